"""The memory that is held at each moment, by category."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.memory.categories import Lives, ends
from perfprobe.analyse.memory.moments import NEVER_NS
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.memory import MemoryCategories, MemoryCategory, MemoryTimeline, Storages

_KINDS = len(MemoryCategory)


def alive(storages: Storages, time_ns: int) -> Mask:
    """Returns which storages were alive at a time."""
    return np.asarray((storages.start_ns <= time_ns) & (time_ns < ends(storages)))


class HeldByCategory:
    """Adds up lifetimes of storages.

    Args:
        peak_ns: the time at which most memory was held.
        moments_ns: the moments of the timeline.
    """

    def __init__(self, peak_ns: int, moments_ns: Int64) -> None:
        self._peak_ns, self._moments_ns = peak_ns, moments_ns
        self._changes = np.zeros((_KINDS, len(moments_ns) + 1), np.int64)
        self._at_peak = np.zeros((2, _KINDS), np.int64)  # storages and bytes
        self._held = np.zeros(_KINDS, np.int64)

    def add(self, spans: Lives) -> None:
        """Adds the lifetimes of more storages."""
        first = np.searchsorted(self._moments_ns, spans.start_ns, side="left")
        last = np.searchsorted(self._moments_ns, np.minimum(spans.end_ns, NEVER_NS), side="left")
        np.add.at(self._changes, (spans.category, first), spans.size_bytes)
        np.subtract.at(self._changes, (spans.category, last), spans.size_bytes)
        at_peak = (spans.start_ns <= self._peak_ns) & (self._peak_ns < spans.end_ns)
        np.add.at(self._at_peak[0], spans.category[at_peak], 1)
        np.add.at(self._at_peak[1], spans.category[at_peak], spans.size_bytes[at_peak])
        at_end = spans.end_ns >= NEVER_NS
        np.add.at(self._held, spans.category[at_end], spans.size_bytes[at_end])

    def categories(self) -> MemoryCategories:
        """Returns what was alive at the peak and at the end."""
        return MemoryCategories(
            category=np.arange(_KINDS, dtype=np.int8),
            storages=self._at_peak[0],
            peak_bytes=self._at_peak[1],
            held_bytes=self._held,
        )

    def timeline(self) -> MemoryTimeline:
        """Returns the bytes of each category at each moment; there is no row for 0 bytes."""
        held_bytes = np.cumsum(self._changes, axis=1)[:, :-1]
        moment, category = np.nonzero(held_bytes.T)
        times_ns = self._moments_ns[moment]
        return MemoryTimeline(times_ns, category.astype(np.int8), held_bytes[category, moment])
