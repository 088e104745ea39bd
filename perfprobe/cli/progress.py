"""Progress on standard error, if that is a terminal."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from threading import Event, Thread

from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Any

_PATIENCE_S = 2.0  # until a line appears
_SECOND_S = 1.0


@contextmanager
def reading(paths: Sequence[str]) -> Iterator[None]:
    """A line that files are being read and for how long, if the block takes more than two seconds.

    The size of a file does not say how long it takes: a small one may expand to gigabytes.
    """
    if not os.isatty(2):
        yield
        return
    is_done = Event()
    line = Thread(target=_tell, args=(paths, is_done), name="perfprobe progress", daemon=True)
    line.start()
    try:
        yield
    finally:
        is_done.set()
        line.join()


def _tell(paths: Sequence[str], is_done: Event) -> None:
    begun_s, wait_s = time.monotonic(), _PATIENCE_S
    while not is_done.wait(wait_s):
        _write(f"\r{_read_text(paths)}: {round(time.monotonic() - begun_s)} s")
        wait_s = _SECOND_S
    if wait_s != _PATIENCE_S:
        _write("\r\x1b[K")


def _read_text(paths: Sequence[str]) -> str:
    from perfprobe.support import units

    size_bytes = 0
    for path in paths:
        with suppress(OSError):  # whoever reads it reports that
            size_bytes += os.path.getsize(path)
    return f"reading {len(paths):,} file{'' if len(paths) == 1 else 's'}, {units.size(size_bytes)}"


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
