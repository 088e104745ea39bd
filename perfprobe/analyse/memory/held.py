"""How much memory is held at each moment: the peak, and the timeline."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.memory.categories import Lives, ends
from perfprobe.analyse.memory.moments import NEVER_NS
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.memory import MemoryCategory, MemoryTimeline, Storages

MOST_MOMENTS = 1000


@frozen
class Held:
    """All changes of held memory, ordered by time, and how much is held after each."""

    time_ns: Int64
    held_bytes: Int64

    @property
    def peak(self) -> tuple[int, int]:
        """The moment at which most was held, and how much that was."""
        place = int(self.held_bytes.argmax())
        return int(self.time_ns[place]), int(self.held_bytes[place])


def held(storages: Storages) -> Held:
    """Returns the changes; needs at least one storage. At equal times frees come before allocations."""
    freed = storages.take(storages.end_ns >= 0)
    time_ns = np.append(freed.end_ns, storages.start_ns)
    change = np.append(-freed.size_bytes, storages.size_bytes)
    order = np.argsort(time_ns, kind="stable")
    return Held(time_ns[order], np.cumsum(change[order]))


def alive(storages: Storages, time_ns: int) -> Mask:
    """Returns which storages were alive at that time."""
    return np.asarray((storages.start_ns <= time_ns) & (time_ns < ends(storages)))


def timeline(changes: Held, spans: Lives) -> MemoryTimeline:
    """Returns held memory by category, at the highest moment of each of `MOST_MOMENTS` stretches of time.

    A category that holds nothing at a moment has no row.
    """
    moments_ns = _highest(changes)
    first = np.searchsorted(moments_ns, spans.start_ns, side="left")
    last = np.searchsorted(moments_ns, np.minimum(spans.end_ns, NEVER_NS), side="left")
    table = np.zeros((len(MemoryCategory), len(moments_ns) + 1), np.int64)
    np.add.at(table, (spans.category, first), spans.size_bytes)
    np.subtract.at(table, (spans.category, last), spans.size_bytes)
    held_bytes = np.cumsum(table, axis=1)[:, :-1]
    moment, category = np.nonzero(held_bytes.T)
    return MemoryTimeline(moments_ns[moment], category.astype(np.int8), held_bytes[category, moment])


def _highest(changes: Held) -> Int64:
    """Returns the time of the highest moment in each stretch that has changes."""
    begin_ns, end_ns = int(changes.time_ns[0]), int(changes.time_ns[-1])
    width_ns = max((end_ns - begin_ns) // MOST_MOMENTS + 1, 1)
    stretch = (changes.time_ns - begin_ns) // width_ns
    order = np.lexsort((-np.arange(len(stretch)), changes.held_bytes, stretch))
    is_last = np.append(stretch[order][1:] != stretch[order][:-1], True)
    return np.sort(changes.time_ns[order[is_last]])
