"""Finds the innermost interval of a thread around a point in time.

Among nested intervals in the order of their ends, the first that contains a point is the innermost.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.threads import each_thread

_NEVER = np.iinfo(np.int64).min


class Innermost:
    """Finds the innermost interval around each point. Intervals come in batches.

    Its time grows with points and intervals, times the logarithm of the batch size, for any data.
    """

    def __init__(self, thread: Int64, time_ns: Int64) -> None:
        """thread: of each point; -1 for points to leave out."""
        self._order = np.lexsort((time_ns, thread))
        self._time_ns = time_ns[self._order]
        self._found = np.zeros(len(thread), np.bool_)
        groups = each_thread(thread[self._order])
        self._bounds = {key: (int(own[0]), int(own[-1]) + 1) for key, own in groups if key != -1}

    def find(self, thread: Int64, start_ns: Int64, end_ns: Int64) -> tuple[Rows, Rows]:
        """Returns the points that are in an interval of this batch but in none before, and these intervals.

        Args:
            thread: of each interval. Intervals of one thread must come in the order of their ends.
        """
        points, rows = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for key, own in each_thread(thread):
            if key in self._bounds:
                places, around = self._find(key, start_ns[own], end_ns[own])
                points.append(self._order[places])
                rows.append(own[around])
        return np.concatenate(points), np.concatenate(rows)

    def _find(self, thread: int, start_ns: Int64, end_ns: Int64) -> tuple[Rows, Rows]:
        latest_ns = np.maximum.accumulate(end_ns)  # keeps the order even if a row is damaged
        first, last = self._bounds[thread]
        time_ns = self._time_ns[first:last]
        low, high = np.searchsorted(time_ns, start_ns.min()), np.searchsorted(time_ns, latest_ns[-1], "right")
        places = first + low + np.flatnonzero(~self._found[first + low : first + high])
        time_ns = self._time_ns[places]
        around = _first_started(start_ns, np.searchsorted(latest_ns, time_ns), time_ns)
        is_inside = np.append(end_ns, _NEVER)[around] >= time_ns
        places, around = places[is_inside], around[is_inside]
        self._found[places] = True
        return places, around


def _first_started(start_ns: Int64, at: Rows, time_ns: Int64) -> Rows:
    """From each position on, finds the first interval that had started by this time; their count if none."""
    at = at.copy()
    waiting = np.flatnonzero(start_ns[at] > time_ns)
    if len(waiting) == 0:
        return at
    # The earliest start among the next 2^n intervals, from each position: for binary search.
    earliest = [start_ns]
    while 2 ** len(earliest) <= len(start_ns):
        half = 2 ** (len(earliest) - 1)
        earliest.append(np.minimum(earliest[-1][:-half], earliest[-1][half:]))
    for level in range(len(earliest) - 1, -1, -1):
        block = earliest[level]
        place = at[waiting]
        skips = place < len(block)
        skips[skips] = block[place[skips]] > time_ns[waiting[skips]]
        at[waiting[skips]] += 2**level
    return at
