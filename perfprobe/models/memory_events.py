"""Finds the operator around each allocation and each free, while both are read in stretches of time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.memory import MemoryChanges, TensorMemory
from perfprobe.tables.threads import each_thread

_MOST_LEVELS = 256  # of operators within each other that are looked at one after the other

Columns: TypeAlias = dict[str, npt.NDArray[Any]]


class Feed:
    """Reads memory as far as operators have been read."""

    def __init__(self, memory: TensorMemory) -> None:
        self._changes = memory.changes()
        self._until_ns = -1

    def until(self, time_ns: int) -> list[MemoryChanges]:
        """Returns the changes since the last call: at least all at or before this time."""
        found = []
        while self._until_ns <= time_ns:
            changes = next(self._changes, None)
            if changes is None:
                break
            self._until_ns = changes.until_ns
            found.append(changes)
        return found


class Waiting:
    """Keeps the allocations and frees of each thread, by time, until their operator is known."""

    def __init__(self) -> None:
        self._of: dict[int, Columns] = {}

    def add(self, thread: Int32, columns: Columns) -> None:
        """Adds events that are later than all before. columns: one of them is `time_ns`. They are removed."""
        threads = each_thread(thread)
        for number, rows in threads:
            rows = rows[np.argsort(columns["time_ns"][rows], kind="stable")]  # noqa: PLW2901 (sorted)
            # Of most programs all are of one thread: no column is in memory twice for long.
            taken = columns.pop if number == threads[-1][0] else columns.__getitem__
            own = {name: taken(name)[rows] for name in tuple(columns)}
            before = self._of.get(number)
            if before is not None:
                own = {name: np.append(before[name], values) for name, values in own.items()}
            self._of[number] = own

    def of(self, thread: int) -> Columns | None:
        """Returns the events of a thread; None if it has none."""
        return self._of.get(thread)

    def take(self, thread: int, is_known: Mask) -> Columns:
        """Removes the events of a thread with a known operator, and returns them."""
        own = self._of[thread]
        if bool(is_known.all()):
            return self._of.pop(thread)
        self._of[thread] = {name: values[~is_known] for name, values in own.items()}
        return {name: values[is_known] for name, values in own.items()}

    def threads(self) -> list[int]:
        """Returns the threads with events."""
        return list(self._of)


def deepest(time_ns: Int64, start_ns: Int64, end_ns: Int64, depth: Int32) -> Rows:
    """Returns the deepest row that contains each of these sorted times; -1 for none.

    The rows are operators of one thread, so rows of equal depth do not overlap.
    """
    found = np.full(len(time_ns), -1, np.intp)
    first = np.searchsorted(time_ns, start_ns, side="left")
    rows = np.flatnonzero(np.searchsorted(time_ns, end_ns, side="right") > first)
    rows = rows[np.lexsort((start_ns[rows], -depth[rows]))]
    left = np.arange(len(time_ns))
    levels = np.split(rows, np.flatnonzero(np.diff(depth[rows])) + 1)
    if len(levels) > _MOST_LEVELS:
        return _deepest_by_time(time_ns, start_ns, end_ns, depth, rows)
    for level in levels:
        if len(level) == 0 or len(left) == 0:
            break
        place = np.searchsorted(start_ns[level], time_ns[left], side="right") - 1
        row = level[np.maximum(place, 0)]
        is_inside = (place >= 0) & (time_ns[left] <= end_ns[row])
        found[left[is_inside]] = row[is_inside]
        left = left[~is_inside]
    return found


def _deepest_by_time(time_ns: Int64, start_ns: Int64, end_ns: Int64, depth: Int32, rows: Rows) -> Rows:
    """Like `deepest`, row by row: the same time for any depth, but slow for usual ones."""
    rows = rows[np.lexsort((depth[rows], start_ns[rows]))]
    columns = (column[rows].tolist() for column in (start_ns, end_ns, depth))
    coming = zip(*columns, rows.tolist(), strict=True)
    found, opened = [], list[tuple[int, int, int]]()  # end, depth and row, the deepest last
    following = next(coming, None)
    for at_ns in time_ns.tolist():
        while following is not None and following[0] <= at_ns:
            begun_ns, stop_ns, level, row = following
            while opened and (opened[-1][0] < begun_ns or opened[-1][1] >= level):
                opened.pop()
            opened.append((stop_ns, level, row))
            following = next(coming, None)
        while opened and opened[-1][0] < at_ns:
            opened.pop()
        found.append(opened[-1][2] if opened else -1)
    return np.array(found, np.intp)


def over_ns(end_ns: Int64, depth: Int32) -> int:
    """Returns the end of the last outermost row, -1 without one: up to it all operators are known."""
    ends = end_ns[depth == 0]
    return int(ends.max()) if len(ends) else -1
