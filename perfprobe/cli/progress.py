"""How far a long measurement is, on standard error, where that is a terminal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

_LONGEST = 40  # cells of what is being measured


class Bar:
    """A bar with the time left; called with what is done, all there is, seconds left, what is measured."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        if os.isatty(2):
            self._progress = _drawn()
            self._progress.start()
            self._task = self._progress.add_task("starting", total=None, left="")
        return self

    def __call__(self, done: int, every: int, seconds_left: float | None, what: str) -> None:
        if self._progress is not None:
            left = "" if seconds_left is None else f"{_clock(seconds_left)} left"
            self._progress.update(
                self._task, completed=done, total=every, left=left, description=_shown(what)
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()


def _drawn() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _shown(what: str) -> str:
    from perfprobe.support.text import printable

    text = printable(what)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _clock(seconds: float) -> str:
    whole = max(round(seconds), 0)
    return f"{whole // 60}:{whole % 60:02}"
