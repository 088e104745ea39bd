"""Ranges that the program or a library set through NVTX, ITT or perfprobe."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.strings import Strings


class RangeSource(IntEnum):
    """The interface through which a range was set."""

    NVTX = 0
    ITT = 1
    PERFPROBE = 2
    PYTHON = 3  # garbage collections, which the interpreter runs


class RangeKind(IntEnum):
    """Whether ranges nest on their thread, or may begin and end anywhere. A mark has no duration.

    Ranges of one source and domain nest; ranges of other sources may end in between.
    """

    NESTED = 0
    FREE = 1
    MARK = 2


class Ranges(Table, name="ranges", most_rows=MOST_EVENTS):
    """Ranges that the program or a library set."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended, -1 if it was open at the recording's end")
    thread: Int32 = column("the thread on which it began", Threads)
    name: Int32 = column("its name", Strings)
    domain: Int32 = column("its domain, -1 for the default domain", Strings)
    source: Int8 = column("a `RangeSource`")
    kind: Int8 = column("a `RangeKind`")


class RangeRows(Table):
    """Ranges with one name, domain, source and kind, and their sums.

    Times other than `total_ns` are of whole durations. All are -1 for marks, and if no end is known.
    """

    name: Int32 = column("their name", Strings)
    domain: Int32 = column("their domain, -1 for the default domain", Strings)
    source: Int8 = column("a `RangeSource`")
    kind: Int8 = column("a `RangeKind`")
    thread: Int32 = column("their thread, -1 if there are several", Threads)
    ranges: Int64 = column("number of ranges, including marks", combine=Combine.SUM)
    open: Int64 = column(
        "number of ranges that were open at the recording's end; they count up to it", combine=Combine.SUM
    )
    total_ns: Int64 = column(
        "time in which at least one was open; for nested ranges summed over threads",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    mean_ns: Int64 = column("mean duration", optional=True)
    median_ns: Int64 = column("median duration", optional=True)
    p95_ns: Int64 = column("95th percentile of durations, by nearest rank", optional=True)
    longest_ns: Int64 = column("longest duration", combine=Combine.MOST, optional=True)
