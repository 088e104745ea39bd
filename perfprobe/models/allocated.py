"""How much memory a thread allocated and freed within spans of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.memory import Storages
from perfprobe.tables.threads import each_thread


class Amounts(NamedTuple):
    """Sums for each span of time."""

    allocations: Int64
    allocated_bytes: Int64
    frees: Int64
    freed_bytes: Int64


class _Sums(NamedTuple):
    """Times of a thread's allocations or frees, in order, and for each the sum of all sizes before it."""

    time_ns: Int64
    before_bytes: Int64

    def within(self, start_ns: Int64, end_ns: Int64) -> tuple[Int64, Int64]:
        first = np.searchsorted(self.time_ns, start_ns, side="left")
        last = np.maximum(np.searchsorted(self.time_ns, end_ns, side="right"), first)
        return last - first, self.before_bytes[last] - self.before_bytes[first]


class AllocatedWithin:
    """Finds sums of allocations and frees by thread and time."""

    def __init__(self, storages: Storages) -> None:
        freed = storages.take((storages.end_ns >= 0) & (storages.freed_thread >= 0))
        self._allocated = _by_thread(storages.thread, storages.start_ns, storages.size_bytes)
        self._freed = _by_thread(freed.freed_thread, freed.end_ns, freed.size_bytes)

    def of(self, thread: Int32, start_ns: Int64, end_ns: Int64) -> Amounts:
        """Returns the sums for spans of time, each on its own thread. Spans must be grouped by thread."""
        sums = Amounts(*(np.zeros(len(thread), np.int64) for _ in Amounts._fields))
        for number, rows in each_thread(thread):
            for events, count, size in (
                (self._allocated, sums.allocations, sums.allocated_bytes),
                (self._freed, sums.frees, sums.freed_bytes),
            ):
                if number in events:
                    count[rows], size[rows] = events[number].within(start_ns[rows], end_ns[rows])
        return sums


def _by_thread(thread: Int32, time_ns: Int64, size_bytes: Int64) -> dict[int, _Sums]:
    order = np.lexsort((time_ns, thread))
    found = {}
    for number, rows in each_thread(thread[order]):
        own = order[rows]
        found[number] = _Sums(time_ns[own], np.append(np.int64(0), np.cumsum(size_bytes[own])))
    return found
