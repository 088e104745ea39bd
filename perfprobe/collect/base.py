"""The interface of collectors, and how they write what they know.

A program may replace functions of the standard library (`os.fstat = None`). So collectors import those that
they need while the program runs and afterwards by name, when perfprobe starts.
"""

from __future__ import annotations

import sys
from json import dumps
from os import fstat, write

from perfprobe.support.scarcity import scarcity
from perfprobe.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from perfprobe.native import Recorder
    from perfprobe.support.errors import EnvironmentLack


# The remedy where the program closed a descriptor of perfprobe, as daemons do with all that they do not know.
KEEP_OPEN = "close only descriptors that the program opened"


class Collector:
    """A source of events. `start` may only arm it: events may begin later, for example at `import torch`."""

    name: str

    def available(self) -> EnvironmentLack | None:
        """Returns why this collector cannot work here; None if it can, or that is known only later."""
        return None

    def start(self) -> None:
        """Starts recording."""
        raise NotImplementedError

    def begin(self) -> None:
        """Called when the program begins."""

    def pause(self) -> None:
        """Called when the program has ended. A profile function set before does not know the frames now."""

    def go_on(self) -> None:
        """Called when a profile function knows the frames again."""

    def counters(self) -> dict[str, Any] | None:
        """Returns the counts so far, for the program itself; None if the collector does not count."""
        return None

    def stop(self) -> None:
        """Ends recording and writes losses. Called once, after `start`."""
        raise NotImplementedError


class Facts:
    """Writes meta values and losses into one recording. Tells the user what cannot wait for the report."""

    def __init__(self, recorder: Recorder, tell: Callable[[str], None]) -> None:
        self.recorder = recorder
        self.tell = tell
        self._known: dict[str, dict[str, object]] = {}

    def meta(self, key: str, value: object) -> None:
        """Writes one meta value (anything that JSON can hold). None means not known and is not written."""
        if isinstance(value, dict):
            self._known[key] = value
        if value is not None:
            self.recorder.add_meta(key, dumps(value))

    def extend(self, key: str, **values: object) -> None:
        """Adds fields to a meta object. All of it is written again, because the last row of a key counts."""
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            self.meta(key, {**self._known.get(key, {}), **known})

    def known(self, key: str) -> dict[str, object]:
        """Returns the fields of a meta object as written so far."""
        return self._known.get(key, {})

    def loss(self, source: str, reason: str, count: int = 1, remedy: str = "") -> None:
        """Writes what is missing in the recording."""
        self.recorder.add_loss(source, _writable(reason), count, _writable(remedy))

    def guarded(self, source: str, step: Callable[[], None]) -> bool:
        """Runs a step of perfprobe. A fault becomes a loss and a line for the user; the program goes on."""
        try:
            step()
        except Exception as error:
            reason, remedy = scarcity(error) or (fault(error), "")
            self.tell(f"{source}: {reason}; {remedy}" if remedy else f"{source}: {reason}")
            self.loss(source, reason, 1, remedy)
            return False
        return True


def _writable(text: str) -> str:
    # File names may hold bytes that are not text (here surrogates), which UTF-8 cannot encode.
    return text.encode(errors="backslashreplace").decode()


def fault(error: BaseException) -> str:
    """Returns one line that says what went wrong and where in the code, for an unexpected error."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return text
    file = place.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{text} ({file}:{place.tb_lineno})"


def _identity(number: int) -> tuple[int, int] | None:
    """Returns device and inode of a file descriptor; None if it is closed."""
    try:
        status = fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Stderr:
    """Standard error as it was when perfprobe started.

    A program may close descriptor 2 and open a file, which then gets that number. perfprobe must not write
    into that file.
    """

    def __init__(self) -> None:
        self._identity = _identity(2)

    def usable(self) -> bool:
        """Whether descriptor 2 is still the same file."""
        return self._identity is not None and _identity(2) == self._identity

    def drain(self) -> None:
        """Flushes the program's buffers, because its output came first."""
        _flush(sys.__stdout__)
        _flush(sys.__stderr__)

    def tell(self, line: str) -> None:
        """Writes one line, made printable, after flushing the program's buffers."""
        if not self.usable():
            return
        self.drain()
        try:
            write(2, f"perfprobe: {printable(line)}\n".encode())
        except OSError:
            return  # standard error is closed: there is nowhere else to report it


def _flush(stream: TextIO | None) -> None:
    # The interpreter meets the same error when it ends, and reports it.
    if stream is not None:
        try:
            stream.flush()
        except (OSError, ValueError):
            return
