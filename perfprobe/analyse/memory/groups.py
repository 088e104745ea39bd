"""Sums by group. Allocations with the same operator, line, module and phase are a group."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.memory.owners import Owned
from perfprobe.tables.columns import Int64, Rows

KEYS = ("name", "innermost", "frame", "module", "phase")


class Groups:
    """Gives each new group the next number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, owned: Owned) -> Rows:
        """Returns the number of each row's group."""
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
        """Returns the values of one key, such as `frame`, for all groups."""
        place = KEYS.index(name)
        return np.array([each[place] for each in self._numbers], Owned.dtypes[name])


class Sums:
    """Sums of whole numbers by group. The number of groups may grow. width: number of sums per group."""

    def __init__(self, width: int = 1) -> None:
        self._values = np.zeros((64, width), np.int64)

    def add(self, group: Rows, values: Int64, place: Rows | int = 0) -> None:
        """Adds each value to one sum of its group. place: which of the sums."""
        if len(group) == 0:
            return
        most = int(group.max()) + 1
        if most > len(self._values):
            more = np.zeros((max(most, len(self._values)), self._values.shape[1]), np.int64)
            self._values = np.concatenate([self._values, more])
        np.add.at(self._values, (group, np.broadcast_to(place, len(group))), values)

    def of(self, groups: int) -> Int64:
        """Returns the sums of the first groups, a row each."""
        more = max(groups - len(self._values), 0)
        return np.concatenate([self._values[:groups], np.zeros((more, self._values.shape[1]), np.int64)])


def merged(values: Int64, row: Rows, rows: int) -> Int64:
    """Returns the sums of groups, added up into fewer rows. row: the row of each group."""
    found = np.zeros((rows, values.shape[1]), np.int64)
    np.add.at(found, row, values)
    return found
