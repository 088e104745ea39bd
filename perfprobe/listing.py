"""The recordings of a folder and its `.perfprobe/` as a table."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from operator import itemgetter

from perfprobe.read.belongings import Belongings, belongings, rotates
from perfprobe.report.render import text as rendered
from perfprobe.report.rows.row import plain
from perfprobe.report.section.block import Block, Column, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.program import command
from perfprobe.runs import Run
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables import storage
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import StepTimes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
_LARGEST_BYTES = 64 << 20  # of a recording whose steps are counted, which takes seconds


@frozen
class ListedRow:
    """A recording. None: not known.

    recording: its path, from the folder. begun_ns: when it began, since 1970. size_bytes: with what belongs
    to it. steps: None also if none were found, and for recordings of more than 64 MiB. unread: why it cannot
    be read.
    """

    recording: str
    begun_ns: int | None = None
    command: str | None = None
    duration_ns: int | None = None
    size_bytes: int | None = None
    steps: int | None = None
    complete: bool = False
    unread: str | None = None


class Listing:
    """The recordings of a folder, newest first.

    Args:
        top: how many are read; 0 for all.

    Raises:
        InputError: the folder cannot be read.
    """

    def __init__(self, folder: str, top: int) -> None:
        found = _found(folder)
        self._folder, self.whole = folder, len(found)
        self.paths = [os.path.join(place, one.name) for _, place, one in found[: top or None]]
        self._found = found[: top or None]

    def rows(self) -> list[ListedRow]:
        """Reads them."""
        return [_row(self._folder, place, one) for _, place, one in self._found]

    def text(self, rows: Sequence[ListedRow], *, width: int, color: bool) -> str:
        """The table."""
        return rendered.page(self._blocks(rows), width=width, color=color)

    def document(self, rows: Sequence[ListedRow]) -> dict[str, Any]:
        """The same for JSON."""
        return {"schema": SCHEMA, "recordings": [plain(row) for row in rows]}

    def _blocks(self, rows: Sequence[ListedRow]) -> Iterator[Block]:
        if not rows:
            yield Paragraph("No recordings here. This makes one: perfprobe script.py")
        readable = [row for row in rows if row.unread is None]
        if readable:
            yield Table(_columns(readable))
        for row in rows:
            if row.unread is not None:
                yield Paragraph(f"Not read: {printable(f'{row.recording}: {row.unread}')}", "yellow")
        if len(rows) < self.whole:
            yield Paragraph(f"{len(rows):,} of {self.whole:,}; --top 0 lists all.")


def _found(folder: str) -> list[tuple[int, str, Belongings]]:
    """When each recording was written last, its folder, and what belongs to it; newest first."""
    found = []
    try:
        written = {entry.path: entry.stat().st_mtime_ns for entry in storage.recordings_in(folder)}
        for place in {os.path.dirname(path) for path in written}:
            for one in belongings(os.listdir(place), partial(rotates, place)):
                paths = [os.path.join(place, name) for name in (one.name, *one.further)]
                if paths[0] in written:
                    found.append((max(written.get(path, 0) for path in paths), place, one))
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}", folder) from error
    return sorted(found, key=itemgetter(0), reverse=True)


def _row(folder: str, place: str, one: Belongings) -> ListedRow:
    path = os.path.join(place, one.name)
    name, size_bytes = os.path.relpath(path, folder), _size_bytes(place, one)
    try:
        run = Run(path)
        steps = _steps(run) if os.path.getsize(path) <= _LARGEST_BYTES else None
        begun_ns, duration_ns = _times(run.recording)
    except InputError as error:
        return ListedRow(name, size_bytes=size_bytes, unread=error.what)
    except OSError as error:
        return ListedRow(name, size_bytes=size_bytes, unread=error.strerror)
    recording = run.recording
    said = (begun_ns, command(recording), duration_ns, size_bytes, steps, recording.complete)
    return ListedRow(name, *said)


def _steps(run: Run) -> int | None:
    found = run.find((StepTimes,)).get(StepTimes)
    return None if found is None else int((found.steps.loop == 0).sum()) or None


def _times(recording: Recording) -> tuple[int | None, int | None]:
    """When it began, and how long it took; if it was cut short, to its last flush."""
    begun_ns, start_ns = recording.number("clock", "realtime_ns"), recording.number("start", "monotonic_ns")
    stop_ns = recording.number("stop", "monotonic_ns")
    end_ns = recording.last_ns if stop_ns is None else stop_ns
    duration_ns = None if start_ns is None or end_ns < start_ns else int(end_ns - start_ns)
    return None if begun_ns is None else int(begun_ns), duration_ns


def _size_bytes(place: str, one: Belongings) -> int:
    names = [one.name, *one.further, *one.files]
    for folder in one.folders:
        with suppress(OSError):
            if not os.path.islink(os.path.join(place, folder)):
                names += [os.path.join(folder, name) for name in os.listdir(os.path.join(place, folder))]
    size_bytes = 0
    for name in names:
        with suppress(OSError):
            found = os.lstat(os.path.join(place, name))
            size_bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return size_bytes


def _columns(rows: Sequence[ListedRow]) -> list[Column]:
    return [
        Column("recording", [printable(row.recording) for row in rows]),  # never cut, for the next command
        Column("began", [_date(row.begun_ns) for row in rows], 5),
        Column("command line", [printable(row.command or "-") for row in rows], 2, least=12),
        figures("duration", [units.duration(row.duration_ns) for row in rows]),
        figures("size", [units.size(row.size_bytes) for row in rows], 4),
        figures("steps", [units.count(row.steps) for row in rows], 1),
    ]


def _date(begun_ns: int | None) -> str:
    try:
        return "-" if begun_ns is None else f"{datetime.fromtimestamp(begun_ns / 1e9):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # a recording may say anything
        return "-"
