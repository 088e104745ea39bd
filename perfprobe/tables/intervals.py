"""Intervals of time, ordered and without overlaps."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Rows


def around(start_ns: Int64, end_ns: Int64, time_ns: Int64) -> Rows:
    """Returns the interval that each time is in, -1 for none.

    Args:
        start_ns, end_ns: the intervals by start. The end belongs to none of them. Where two overlap, the one
            that began last counts.
    """
    if len(time_ns) == 0:
        return np.empty(0, np.intp)
    # Times of a batch are near to each other: few of the intervals need to be searched.
    first, end = np.searchsorted(start_ns, (time_ns.min(), time_ns.max()), "right")
    at = np.searchsorted(start_ns[first:end], time_ns, "right") + (first - 1)
    return np.where(time_ns < np.append(end_ns, np.iinfo(np.int64).min)[at], at, -1)


def numbered(first: Rows, count: Rows) -> tuple[Rows, Rows]:
    """For each row that many numbers, from its first on. Returns the row and the number of each."""
    row = np.repeat(np.arange(len(count)), count)
    return row, first[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)


def overlaps(starts: Int64, ends: Int64, start_ns: Int64, end_ns: Int64) -> tuple[Rows, Rows, Int64]:
    """Cuts intervals at sorted ones. Returns for each piece: the sorted interval, its own, and its length."""
    first = np.searchsorted(ends, start_ns, "right")
    row, at = numbered(first, np.maximum(np.searchsorted(starts, end_ns, "left") - first, 0))
    time_ns = np.minimum(end_ns[row], ends[at]) - np.maximum(start_ns[row], starts[at])
    return at, row, np.maximum(time_ns, 0)
