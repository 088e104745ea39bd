"""Ranges that the program, or a library of its, gave a name to through NVTX, ITT or perfprobe."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from perfprobe.tables.columns import Int8, Int32, Int64, Table


class RangeSource(IntEnum):
    """Through what a range was set."""

    NVTX = 0
    ITT = 1
    PERFPROBE = 2


class RangeKind(IntEnum):
    """Whether ranges nest on their thread, or may begin and end anywhere; a mark has no duration."""

    NESTED = 0
    FREE = 1
    MARK = 2


@dataclass(frozen=True)
class Ranges(Table):
    """Ranges that the program, or a library, gave a name to.

    thread: row of `threads`, where it began; name: string id; domain: string id, -1 the default one; source:
    `RangeSource`; kind: `RangeKind`. end_ns: -1 of one that was still open when the recording ended.
    """

    start_ns: Int64
    end_ns: Int64
    thread: Int32
    name: Int32
    domain: Int32
    source: Int8
    kind: Int8


@dataclass(frozen=True)
class RangeRows(Table):
    """Ranges of one name, domain, source and kind, and their sums.

    thread: row of `threads`, -1 where they are of several. ranges: how many there were, marks too; open: how
    many of them had not ended with the recording, and count up to its end. total_ns: time in which at least
    one of them was open, of nested ones on each thread, so that one within another counts once. The other
    times are of whole durations; all are -1 of marks, and where no end is known.
    """

    name: Int32
    domain: Int32
    source: Int8
    kind: Int8
    thread: Int32
    ranges: Int64
    open: Int64
    total_ns: Int64
    mean_ns: Int64
    median_ns: Int64
    p95_ns: Int64
    longest_ns: Int64
