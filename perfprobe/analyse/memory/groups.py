"""Sums by group: what has the same operator, line, module and phase."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.memory.owners import Owned
from perfprobe.tables.columns import Int64, Rows

KEYS = ("name", "innermost", "frame", "module", "phase")


class Groups:
    """Numbers the groups as they come."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, owned: Owned) -> Rows:
        """The number of the group of each row."""
        keys = [getattr(owned, name) for name in KEYS]
        found = np.empty(len(owned), np.intp)
        if len(owned) == 0:
            return found
        order, first = sort_by_keys(keys)
        different = zip(*(key[order[first]].tolist() for key in keys), strict=True)
        numbers = [self._numbers.setdefault(each, len(self._numbers)) for each in different]
        found[order] = np.repeat(numbers, np.diff(np.append(first, len(order))))
        return found

    def keys(self, name: str) -> npt.NDArray[Any]:
        """One key of all groups."""
        place = KEYS.index(name)
        return np.array([each[place] for each in self._numbers], Owned.dtypes[name])


class Sums:
    """Sums of whole numbers by group, whose number grows. width: figures of a group."""

    def __init__(self, width: int = 1) -> None:
        self._values = np.zeros((64, width), np.int64)

    def add(self, group: Rows, values: Int64, place: Rows | int = 0) -> None:
        """Adds each value to that figure of its group."""
        if len(group) == 0:
            return
        most = int(group.max()) + 1
        if most > len(self._values):
            more = np.zeros((max(most, len(self._values)), self._values.shape[1]), np.int64)
            self._values = np.concatenate([self._values, more])
        np.add.at(self._values, (group, np.broadcast_to(place, len(group))), values)

    def of(self, groups: int) -> Int64:
        """The figures of the first groups, a row each."""
        more = max(groups - len(self._values), 0)
        return np.concatenate([self._values[:groups], np.zeros((more, self._values.shape[1]), np.int64)])


def merged(values: Int64, row: Rows, rows: int) -> Int64:
    """The figures of groups, added up into fewer rows. row: that of each group."""
    found = np.zeros((rows, values.shape[1]), np.int64)
    np.add.at(found, row, values)
    return found
