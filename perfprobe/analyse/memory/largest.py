"""The largest storages."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.memory.groups import Groups
from perfprobe.tables.columns import Int8, Int64, Rows
from perfprobe.tables.memory import MemoryLargest, Storages

MOST_LARGEST = 100


class Largest:
    """Keeps the largest storages, and of storages of equal size the earliest."""

    def __init__(self) -> None:
        # Size, number, group, category, start and end.
        self._kept: Int64 = np.empty((6, 0), np.int64)

    def add(self, storages: Storages, number: Int64, group: Rows, category: Int8) -> None:
        """Adds more storages, of which the largest are kept."""
        size_bytes = storages.size_bytes
        chosen = np.flatnonzero(size_bytes >= self._least_bytes())
        chosen = chosen[np.lexsort((number[chosen], -size_bytes[chosen]))[:MOST_LARGEST]]
        columns = (size_bytes, number, group, category, storages.start_ns, storages.end_ns)
        fresh = np.stack([values[chosen].astype(np.int64) for values in columns])
        every = np.concatenate([self._kept, fresh], axis=1)
        self._kept = every[:, np.lexsort((every[1], -every[0]))[:MOST_LARGEST]]

    def _least_bytes(self) -> int:
        """Returns the size that a further storage must have."""
        return int(self._kept[0, -1]) if self._kept.shape[1] == MOST_LARGEST else 0

    def result(self, groups: Groups) -> MemoryLargest:
        """Returns the largest storages, by size."""
        size_bytes, _, group, category, start_ns, end_ns = self._kept
        return MemoryLargest(
            name=groups.keys("name")[group],
            innermost=groups.keys("innermost")[group],
            frame=groups.keys("frame")[group],
            category=category.astype(np.int8),
            size_bytes=size_bytes,
            start_ns=start_ns,
            end_ns=end_ns,
        )
