"""Joins the owner and the end of each storage, which become known at different times."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.memory import NumberedStorages


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
