"""Figures of memory that must be known before storages are summed: peak, moments of a timeline, losses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.merge.storages import PairedRows
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import Losses
from perfprobe.tables.memory import MemoryBlocks, MemoryChanges, TensorMemory
from perfprobe.tables.recording import Recording

MOST_MOMENTS = 1000


def tensor_memory(recording: Recording) -> tuple[TensorMemory | None, tuple[Losses, ...]]:
    """Returns the memory and its losses; None if no memory was recorded."""
    blocks = recording.memory
    if blocks is None:
        return None, ()
    paired, course = PairedRows(recording, blocks), Course(blocks)
    for changes in paired:
        course.add(changes)
    memory = TensorMemory(
        changes=lambda: iter(PairedRows(recording, blocks)),
        allocations=course.allocations,
        allocated_bytes=course.allocated_bytes,
        held_bytes=course.held_bytes,
        peak_bytes=course.peak_bytes,
        peak_ns=course.peak_ns,
        moments_ns=course.moments_ns(),
        older_bytes=paired.older_bytes,
    )
    missing = "frees not recorded: their storages end at the next allocation at the same address"
    counts = (
        ("memory", missing, paired.lost),
        ("recording", "memory: rows with invalid references", paired.strays),
    )
    return memory, tuple(Losses.one(source, reason, count) for source, reason, count in counts if count)


@dataclass
class Course:
    """The bytes held after each change: their peak, and the highest moment in each of equal stretches."""

    blocks: MemoryBlocks
    allocations: int = 0
    allocated_bytes: int = 0
    held_bytes: int = 0
    peak_bytes: int = -1
    peak_ns: int = -1
    _highest: Int64 = field(default_factory=lambda: np.full(MOST_MOMENTS, -1, np.int64))
    _highest_ns: Int64 = field(default_factory=lambda: np.full(MOST_MOMENTS, -1, np.int64))
    _begin_ns: int | None = None

    def add(self, changes: MemoryChanges) -> None:
        """Adds the next changes. Frees count before allocations of the same moment."""
        begun, ended = changes.begun, changes.ended.take(changes.ended.end_ns >= 0)
        self.allocations += len(begun)
        self.allocated_bytes += int(begun.size_bytes.sum())
        time_ns = np.append(ended.end_ns, begun.start_ns)
        if len(time_ns) == 0:
            return
        order = np.argsort(time_ns, kind="stable")
        time_ns = time_ns[order]
        held_bytes = self.held_bytes + np.cumsum(np.append(-ended.size_bytes, begun.size_bytes)[order])
        self.held_bytes = int(held_bytes[-1])
        place = int(held_bytes.argmax())
        if held_bytes[place] > self.peak_bytes:
            self.peak_bytes, self.peak_ns = int(held_bytes[place]), int(time_ns[place])
        self._add_moments(time_ns, held_bytes)

    def _add_moments(self, time_ns: Int64, held_bytes: Int64) -> None:
        if self._begin_ns is None:
            self._begin_ns = int(time_ns[0])
        last_ns = max(int(self.blocks.last_ns.max()), self._begin_ns)
        width_ns = (last_ns - self._begin_ns) // MOST_MOMENTS + 1
        stretch = (time_ns - self._begin_ns) // width_ns
        order = np.lexsort((-np.arange(len(stretch)), held_bytes, stretch))
        own = order[np.append(stretch[order][1:] != stretch[order][:-1], True)]
        own = own[held_bytes[own] > self._highest[stretch[own]]]
        self._highest[stretch[own]], self._highest_ns[stretch[own]] = held_bytes[own], time_ns[own]

    def moments_ns(self) -> Int64:
        """Returns the moments, by time."""
        return np.asarray(self._highest_ns[self._highest_ns >= 0])
