"""The ranges of a recording as plain rows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from perfprobe.tables import storage
from perfprobe.tables.events import Losses, Threads
from perfprobe.tables.ranges import RangeKind, Ranges, RangeSource
from perfprobe.tables.strings import Strings


class Row(NamedTuple):
    """One range. end_ns None: still open."""

    name: str
    domain: str
    source: str
    kind: str
    start_ns: int
    end_ns: int | None
    thread: int


def rows(path: Path) -> list[Row]:
    """All ranges except Python's garbage collections, in the order in which they began."""
    recording = storage.read(path)
    ranges, strings = recording[Ranges], recording[Strings]
    made = [
        Row(
            name=strings[ranges.name[at]],
            domain=strings[ranges.domain[at]] if ranges.domain[at] >= 0 else "",
            source=RangeSource(int(ranges.source[at])).name,
            kind=RangeKind(int(ranges.kind[at])).name,
            start_ns=int(ranges.start_ns[at]),
            end_ns=int(ranges.end_ns[at]) if ranges.end_ns[at] >= 0 else None,
            thread=int(recording[Threads].os_thread[ranges.thread[at]]),
        )
        for at in np.flatnonzero(ranges.source != RangeSource.PYTHON).tolist()
    ]
    return sorted(made, key=lambda row: row.start_ns)


def losses(path: Path) -> list[str]:
    """The losses of ranges."""
    missing = storage.read(path)[Losses]
    return [
        reason for source, reason in zip(missing.source, missing.reason, strict=True) if source == "ranges"
    ]
