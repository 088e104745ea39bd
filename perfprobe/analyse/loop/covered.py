"""How much of an interval is covered by other intervals, and what is not."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.intervals import numbered


class Covered:
    """The union of intervals."""

    def __init__(self, start_ns: Int64, end_ns: Int64) -> None:
        start_ns, end_ns = _ordered(start_ns, end_ns)
        self._start_ns = np.maximum(start_ns, np.append(start_ns[:1], end_ns[:-1]))
        self._end_ns = np.maximum(end_ns, self._start_ns)
        self._before_ns = np.append(np.int64(0), np.cumsum(self._end_ns - self._start_ns))

    def within(self, start_ns: Int64, end_ns: Int64) -> Int64:
        """For how many ns of each stretch at least one interval is open."""
        return self._until(end_ns) - self._until(start_ns)

    def _until(self, time_ns: Int64) -> Int64:
        """The length of the union up to each time."""
        if len(time_ns) == 0 or len(self._start_ns) == 0:
            return np.zeros(len(time_ns), np.int64)
        at = np.searchsorted(self._start_ns, time_ns, "right") - 1
        start_ns, end_ns = np.append(self._start_ns, time_ns.max()), np.append(self._end_ns, time_ns.max())
        open_ns = np.where(at >= 0, np.minimum(time_ns, end_ns[at]) - start_ns[at], 0)
        return self._before_ns[np.maximum(at, 0)] * (at >= 0) + np.maximum(open_ns, 0)


def _ordered(start_ns: Int64, end_ns: Int64) -> tuple[Int64, Int64]:
    """Intervals by start, each ending no earlier than those before it."""
    order = np.argsort(start_ns, kind="stable")
    return start_ns[order], np.maximum.accumulate(end_ns[order])


def outside(
    start_ns: Int64, end_ns: Int64, cut_start_ns: Int64, cut_end_ns: Int64
) -> tuple[Rows, Int64, Int64]:
    """The parts of intervals outside of all cuts: of each its interval, start and end.

    The intervals are ordered and do not overlap; the cuts may.
    """
    cut_start_ns, cut_end_ns = _ordered(cut_start_ns, cut_end_ns)
    first = np.searchsorted(cut_end_ns, start_ns, "right")
    parts = np.maximum(np.searchsorted(cut_start_ns, end_ns, "left") - first, 0) + 1
    row, part = numbered(np.zeros_like(parts), parts)
    before_ns, after_ns = np.append(cut_end_ns, np.int64(0)), np.append(cut_start_ns, np.int64(0))
    cut = first[row] + part
    begin_ns = np.where(part == 0, start_ns[row], before_ns[cut - 1])
    finish_ns = np.where(part == parts[row] - 1, end_ns[row], after_ns[np.minimum(cut, len(cut_start_ns))])
    kept = begin_ns < finish_ns
    return row[kept], begin_ns[kept], finish_ns[kept]
