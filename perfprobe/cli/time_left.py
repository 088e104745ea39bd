"""The time left, as a column of rich's progress bar."""

from __future__ import annotations

import time

from rich.progress import Task, TimeRemainingColumn
from rich.text import Text


class TimeLeft(TimeRemainingColumn):
    """The time until the task's field `end_s` on the monotonic clock; rich's own estimate if that is None."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """The time left as `0:02:13`."""
        if task.fields.get("end_s") is None:
            return super().render(task)
        minutes, seconds = divmod(max(round(task.fields["end_s"] - time.monotonic()), 0), 60)
        return Text(f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left", style="progress.remaining")
