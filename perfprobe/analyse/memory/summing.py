"""Sums of storages by operator, line, module and phase, as their owners and ends become known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import group_of, sort_by_keys
from perfprobe.analyse.memory.categories import categories, lives
from perfprobe.analyse.memory.groups import Groups, Sums, merged
from perfprobe.analyse.memory.held import HeldByCategory, alive
from perfprobe.analyse.memory.largest import Largest
from perfprobe.analyse.memory.moments import Moments
from perfprobe.analyse.memory.owners import Owned
from perfprobe.analyse.memory.steps import AliveForBackward, Growth
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.memory import NumberedStorages, TensorMemory

FIGURES = ("allocations", "allocated_bytes", "frees", "freed_bytes", "held_bytes", "peak_bytes")


class Summing:
    """Adds up storages batch by batch. Keeps sums, and storages without a known owner or end."""

    def __init__(self, memory: TensorMemory, moments: Moments) -> None:
        self.groups = Groups()
        self.held = HeldByCategory(memory.peak_ns, memory.moments_ns)
        self.for_backward = AliveForBackward(moments)
        self.growth = Growth(moments)
        self.largest = Largest()
        self._peak_ns, self._moments = memory.peak_ns, moments
        self._meeting, self._sums = Meeting(), Sums(len(FIGURES))

    def add(self, owned: Owned, ended: NumberedStorages) -> None:
        """Adds allocations and frees with known owners, and storages that ended."""
        group = self.groups.of(owned)
        is_free = owned.number < 0
        freed, size_bytes = group[is_free], owned.size_bytes[is_free]
        self._add(freed, frees=np.ones(len(freed), np.int64), freed_bytes=size_bytes)
        self._add_storages(*self._meeting.add(owned.number[~is_free], group[~is_free], ended))

    def _add_storages(self, storages: NumberedStorages, group: Rows) -> None:
        if len(storages) == 0:
            return
        size_bytes = storages.size_bytes
        category = categories(storages, self.groups.keys("phase")[group], self._moments)
        self.held.add(lives(storages, category, self._moments))
        self.for_backward.add(storages, category, group)
        self.growth.add(storages, group)
        self.largest.add(storages, storages.number, group, category)
        self._add(
            group,
            allocations=np.ones(len(storages), np.int64),
            allocated_bytes=size_bytes,
            held_bytes=size_bytes * (storages.end_ns < 0),
            peak_bytes=size_bytes * alive(storages, self._peak_ns),
        )

    def _add(self, group: Rows, **values: npt.NDArray[np.int64]) -> None:
        for name, column in values.items():
            self._sums.add(group, column, FIGURES.index(name))

    def by(self, key: str) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns of `MemorySums` by this key, sorted by bytes at the peak."""
        count, keys = len(self.groups), self.groups.keys(key)
        order, first = sort_by_keys([keys])
        row, rows = group_of(order, first), len(first)
        figures = merged(self._sums.of(count), row, rows)
        backward = merged(self.for_backward.result(count)[:, None], row, rows)[:, 0]
        steps, grown = self.for_backward.steps, self.growth.result(row, rows)
        none = np.full(rows, -1, np.int64)
        found = {
            key: keys[order[first]],
            **{name: figures[:, place] for place, name in enumerate(FIGURES)},
            "backward_bytes": backward // steps if steps else none,
            "growth_bytes": none if grown is None else grown,
        }
        rank = np.lexsort((-found["allocated_bytes"], -found["peak_bytes"]))
        return {name: values[rank] for name, values in found.items()}


class Meeting:
    """Keeps an owner until the end of its storage is known, and an end until the owner is known."""

    def __init__(self) -> None:
        self._number: Int64 = np.empty(0, np.int64)  # sorted
        self._group: Rows = np.empty(0, np.intp)
        self._ended = NumberedStorages.empty()

    def add(self, number: Int64, group: Rows, ended: NumberedStorages) -> tuple[NumberedStorages, Rows]:
        """Returns the storages with known owner and end, and their groups.

        Args:
            number: numbers of the storages with an owner that has become known.
            group: the group of each of them.
            ended: storages that ended.
        """
        ended = NumberedStorages.concat([self._ended, ended])
        numbers, groups = np.append(self._number, number), np.append(self._group, group)
        order = np.argsort(numbers, kind="stable")
        numbers, groups = numbers[order], groups[order]
        place = np.searchsorted(numbers, ended.number)
        is_met = np.append(numbers, -1)[place] == ended.number
        is_left = np.ones(len(numbers), np.bool_)
        is_left[place[is_met]] = False
        self._number, self._group, self._ended = numbers[is_left], groups[is_left], ended.take(~is_met)
        return ended.take(is_met), groups[place[is_met]]
