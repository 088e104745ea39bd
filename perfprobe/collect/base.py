"""What a collector is, and how it writes down what it knows.

Functions of the standard library that are needed while the program runs, and after it, are taken by name when
this starts, here and in every collector: a program may put anything in their place (`os.fstat = None`).
"""

from __future__ import annotations

import sys
from json import dumps
from os import fstat, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from perfprobe.native import Recorder
    from perfprobe.support.errors import EnvironmentLack


class Collector:
    """A source of events. `start` may only arm it; events may begin later, such as at `import torch`."""

    name: str

    def available(self) -> EnvironmentLack | None:
        """Why this collector cannot work here, or None."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin to record."""
        raise NotImplementedError

    def begin(self) -> None:
        """The program begins now."""

    def pause(self) -> None:
        """The program has ended: a profile function set before does not know the frames that run now."""

    def go_on(self) -> None:
        """From here on a profile function knows the frames again."""

    def counters(self) -> dict[str, Any] | None:
        """What has been counted so far, for the program itself; None for collectors it cannot ask."""
        return None

    def stop(self) -> None:
        """End, and write down what was lost; called once, after `start`."""
        raise NotImplementedError


class Facts:
    """Writes meta and losses into one recording, and tells the user what cannot wait for the report."""

    def __init__(self, recorder: Recorder, tell: Callable[[str], None]) -> None:
        self.recorder = recorder
        self.tell = tell
        self._known: dict[str, dict[str, object]] = {}

    def meta(self, key: str, value: object) -> None:
        """Write one meta value (anything JSON can hold); None is "not known" and is not written."""
        if isinstance(value, dict):
            self._known[key] = value
        if value is not None:
            self.recorder.add_meta(key, dumps(value))

    def extend(self, key: str, **values: object) -> None:
        """Add fields to a meta object; all of it is written again, since the last row of a key counts."""
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            self.meta(key, {**self._known.get(key, {}), **known})

    def known(self, key: str) -> dict[str, object]:
        """The fields of a meta object as written so far."""
        return self._known.get(key, {})

    def loss(self, source: str, reason: str, count: int = 1, remedy: str = "") -> None:
        """Write down something that is missing from the recording."""
        self.recorder.add_loss(source, _writable(reason), count, _writable(remedy))

    def guarded(self, source: str, step: Callable[[], None]) -> bool:
        """Run one step of ours; a fault in it becomes a row in `losses` and one line; the program goes on."""
        try:
            step()
        except Exception as error:
            reason = fault(error)
            self.tell(f"{source}: {reason}")
            self.loss(source, reason)
            return False
        return True


def _writable(text: str) -> str:
    # File names may hold bytes that are not text (surrogates here), which cannot be written as UTF-8.
    return text.encode(errors="backslashreplace").decode()


def fault(error: BaseException) -> str:
    """One line that says what went wrong and where in the code, for an unexpected error."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return text
    file = place.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{text} ({file}:{place.tb_lineno})"


def _identity(number: int) -> tuple[int, int] | None:
    """Device and inode behind a file descriptor; None when it is closed."""
    try:
        status = fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Stderr:
    """Standard error as it was when perfprobe started.

    A program may close descriptor 2 and open a file of its own, which then gets that number: perfprobe must
    may be written into it.
    """

    def __init__(self) -> None:
        self._identity = _identity(2)

    def usable(self) -> bool:
        """Whether descriptor 2 still is what it was."""
        return self._identity is not None and _identity(2) == self._identity

    def drain(self) -> None:
        """Flush the program's buffers first: its output came first."""
        _flush(sys.__stdout__)
        _flush(sys.__stderr__)

    def tell(self, line: str) -> None:
        """Write one line, after flushing the program's buffers."""
        if not self.usable():
            return
        self.drain()
        try:
            write(2, f"perfprobe: {line}\n".encode(errors="backslashreplace"))
        except OSError:
            return  # standard error is closed: there is no other place to report it


def _flush(stream: TextIO | None) -> None:
    # The interpreter meets the same failure when it ends, and reports it.
    if stream is not None:
        try:
            stream.flush()
        except (OSError, ValueError):
            return
