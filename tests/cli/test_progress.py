"""The text of a progress bar's remaining time."""

import time

import pytest
from rich.progress import Progress

from perfprobe.cli.time_left import TimeLeft


@pytest.mark.parametrize(
    ("left_s", "reported"), [(160.0, "0:02:40 left"), (3725.2, "1:02:05 left"), (-3.0, "0:00:00 left")]
)
def test_the_time_left_comes_from_the_caller(
    left_s: float, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    progress = Progress()
    progress.add_task("measuring", total=10, end_s=1000.0 + left_s)
    assert TimeLeft().render(progress.tasks[0]).plain == reported


def test_without_a_given_time_rich_estimates_it() -> None:
    progress = Progress()
    progress.add_task("measuring", total=10, end_s=None)
    assert TimeLeft().render(progress.tasks[0]).plain == "-:--:--"
