"""Ranges that the program, or a library it uses, named through NVTX, ITT or perfprobe."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.strings import Strings


class RangeSource(IntEnum):
    """Through what a range was set."""

    NVTX = 0
    ITT = 1
    PERFPROBE = 2
    PYTHON = 3  # garbage collections: what the interpreter itself does


class RangeKind(IntEnum):
    """Whether ranges nest on their thread, or may begin and end anywhere; a mark has no duration.

    Those of one source and domain nest; ranges of other sources may end in between.
    """

    NESTED = 0
    FREE = 1
    MARK = 2


class Ranges(Table, name="ranges", most_rows=MOST_EVENTS):
    """Ranges that the program, or a library, named."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended, -1 if it was still open at the recording's end")
    thread: Int32 = column("where it began", Threads)
    name: Int32 = column("its name", Strings)
    domain: Int32 = column("its domain, -1 the default one", Strings)
    source: Int8 = column("a `RangeSource`")
    kind: Int8 = column("a `RangeKind`")


class RangeRows(Table):
    """Ranges of one name, domain, source and kind, and their sums.

    Times other than `total_ns` are of whole durations; all are -1 of marks, and where no end is known.
    """

    name: Int32 = column("their name", Strings)
    domain: Int32 = column("their domain, -1 the default one", Strings)
    source: Int8 = column("a `RangeSource`")
    kind: Int8 = column("a `RangeKind`")
    thread: Int32 = column("where they are, -1 if on several threads", Threads)
    ranges: Int64 = column("how many there were, marks too", combine=Combine.SUM)
    open: Int64 = column(
        "how many had not ended with the recording, and count up to its end", combine=Combine.SUM
    )
    total_ns: Int64 = column(
        "time in which at least one was open, of nested ones on each thread",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    mean_ns: Int64 = column("mean duration", optional=True)
    median_ns: Int64 = column("median duration", optional=True)
    p95_ns: Int64 = column("95th percentile of durations, by nearest rank", optional=True)
    longest_ns: Int64 = column("longest duration", combine=Combine.MOST, optional=True)
