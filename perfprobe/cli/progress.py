"""Progress on standard error, if that is a terminal."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress

from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Any

_LARGE_BYTES = 32 << 20  # takes seconds to read


@contextmanager
def reading(paths: Sequence[str]) -> Iterator[None]:
    """A line that large files are being read, until the block ends."""
    text = _read_text(paths) if os.isatty(2) else ""
    _write(text)
    try:
        yield
    finally:
        _write("\r\x1b[K" if text else "")


def _read_text(paths: Sequence[str]) -> str:
    """Returns an empty text if reading the files takes less than a few seconds."""
    size_bytes = 0
    for path in paths:
        with suppress(OSError):  # whoever reads it reports that
            size_bytes += os.path.getsize(path)
    if size_bytes < _LARGE_BYTES:
        return ""
    from perfprobe.support import units

    return f"reading {len(paths):,} file{'' if len(paths) == 1 else 's'}, {units.size(size_bytes)} ..."


def _write(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode())


class Bar:
    """A progress bar. It appears with the first `show`, and is removed at the end."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None

    def show(self, done: int, whole: int, what: str, left_s: float | None = None) -> None:
        """Show that `done` of `whole` are done, and the last one. left_s: seconds left, None if not known."""
        if not os.isatty(2):
            return
        if self._bar is None:
            self._start()
        end_s = None if left_s is None else time.monotonic() + left_s
        self._bar.update(self._task, completed=done, total=whole, what=printable(what), end_s=end_s)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        from perfprobe.cli.time_left import TimeLeft

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeLeft(),
            TextColumn("{task.fields[what]}", markup=False),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._title, total=None, what="", end_s=None)
        self._bar.start()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
