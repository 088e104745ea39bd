"""Finds which operator ran inside which, from the order of their ends and their depth.

In that order a parent directly follows its last child. So among rows of one thread and depth, a row followed
by a row one level up is the last child of that row. All rows before it, back to the previous last child, are
its siblings. This gives every parent with one sort and one backward scan, without a loop over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Rows


class Levels(NamedTuple):
    """Rows grouped by thread and depth, within each group in the order of their ends.

    Attributes:
        order: the row at each place.
        first: place of each group's first row.
        last_child: places of last children, whose parent is the next row.
    """

    order: Rows
    first: Rows
    last_child: Rows


class _Pending(NamedTuple):
    """Rows of one thread and depth whose parent has not ended yet."""

    time_ns: int
    rows: int
    first_start_ns: int


@dataclass
class Nesting:
    """Computes self times. Keeps operators whose parent has not ended yet from one batch to the next."""

    orphans: int = 0  # rows that ended before the next row one level up began: their parent is missing
    _pending: dict[tuple[int, int], _Pending] = field(default_factory=dict)

    def self_times(self, thread: Int32, depth: Int32, start_ns: Int64, duration_ns: Int64) -> Int64:
        """Returns the duration minus that of direct children, at least 0. Rows must be grouped by thread."""
        levels = _levels(thread, depth)
        children_ns = np.zeros(len(thread), np.int64)
        if len(thread):
            self._carry_in(levels, thread, depth, start_ns, children_ns)
            self._sum_children(levels, (thread, depth), start_ns, duration_ns, children_ns)
        self_ns: Int64 = np.maximum(duration_ns - children_ns, 0)
        return self_ns

    @property
    def unfinished(self) -> int:
        """The number of rows so far that are inside an operator or range that has not ended."""
        return sum(pending.rows for (_, depth), pending in self._pending.items() if depth > 0)

    def _carry_in(
        self, levels: Levels, thread: Int32, depth: Int32, start_ns: Int64, children_ns: Int64
    ) -> None:
        """Adds pending rows to the first row one level up, which must be their parent."""
        for row in levels.order[levels.first].tolist():
            pending = self._pending.pop((int(thread[row]), int(depth[row]) + 1), None)
            if pending is None:
                continue
            if pending.first_start_ns >= start_ns[row]:
                children_ns[row] += pending.time_ns
            else:
                self.orphans += pending.rows

    def _sum_children(
        self,
        levels: Levels,
        keys: tuple[Int32, Int32],
        start_ns: Int64,
        duration_ns: Int64,
        children_ns: Int64,
    ) -> None:
        order = levels.order
        times_ns = duration_ns[order]
        parent = _parents_in_order(levels)
        strays = np.flatnonzero((parent >= 0) & (start_ns[order] < start_ns[parent]))
        times_ns[strays] = 0
        self.orphans += len(strays)
        # A segment ends at each last child, and at the end of each group, where it is pending.
        is_end = np.zeros(len(order) + 1, np.bool_)
        is_end[levels.last_child + 1] = True
        is_end[levels.first[1:]] = True
        is_end[-1] = True
        ends = np.flatnonzero(is_end)
        starts = np.append(0, ends[:-1])
        sums_ns = np.add.reduceat(times_ns, starts)
        has_parent = parent[starts] >= 0
        children_ns[parent[starts[has_parent]]] += sums_ns[has_parent]
        for segment in np.flatnonzero(~has_parent).tolist():
            place, rows = int(starts[segment]), int(ends[segment] - starts[segment])
            row = order[place]
            key = (int(keys[0][row]), int(keys[1][row]))
            self._add_pending(key, _Pending(int(sums_ns[segment]), rows, int(start_ns[row])))

    def _add_pending(self, key: tuple[int, int], more: _Pending) -> None:
        if key[1] <= 0:
            return
        before = self._pending.get(key)
        if before is not None:
            more = _Pending(before.time_ns + more.time_ns, before.rows + more.rows, before.first_start_ns)
        self._pending[key] = more


def parents(thread: Int32, depth: Int32) -> Int32:
    """Returns the parent of every row of a table in the order of ends; -1 if it is missing."""
    if len(thread) == 0:
        return np.empty(0, np.int32)
    by_thread = np.argsort(thread, kind="stable")
    levels = _levels(thread[by_thread], depth[by_thread])
    parent = np.full(len(thread), -1, np.int32)
    found = _parents_in_order(levels)
    parent[by_thread[levels.order]] = np.where(found >= 0, by_thread[found], -1)
    return parent


def _levels(thread: Int32, depth: Int32) -> Levels:
    order = _sorted_rows(thread, depth)
    sorted_thread, sorted_depth = thread[order], depth[order]
    changes = (sorted_thread[1:] != sorted_thread[:-1]) | (sorted_depth[1:] != sorted_depth[:-1])
    first = np.append(0, np.flatnonzero(changes) + 1)[: len(order)]
    followed = np.zeros(len(thread), np.bool_)
    followed[:-1] = (thread[1:] == thread[:-1]) & (depth[1:] == depth[:-1] - 1) & (depth[:-1] > 0)
    return Levels(order, first, np.flatnonzero(followed[order]))


def _sorted_rows(thread: Int32, depth: Int32) -> Rows:
    """Returns the rows by thread, then depth, then in their order."""
    if len(thread) and thread[0] == thread[-1] and int(depth.max()) < 32767 and int(depth.min()) >= -32768:
        return np.argsort(depth.astype(np.int16), kind="stable")  # a radix sort, many times faster
    return np.lexsort((depth, thread))


def _parents_in_order(levels: Levels) -> Rows:
    """Returns the parent of the row at each place; -1 if it is not among these rows."""
    order, first, last_child = levels
    is_last = np.zeros(len(order), np.int64)
    is_last[last_child] = 1
    following = np.cumsum(is_last) - is_last  # the index of the next last child at or after the place
    # Beyond the end of its group there is no parent.
    group_end = np.append(first[1:], len(order))
    behind = np.repeat(group_end, np.diff(np.append(first, len(order))))
    next_place = np.append(last_child, len(order))[following]
    next_parent = np.append(order[last_child] + 1, -1)[following]
    return np.where(next_place < behind, next_parent, -1)
