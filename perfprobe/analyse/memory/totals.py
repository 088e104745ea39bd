"""Totals of operators including all that they called, from the figures of each operator itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.threads import each_thread


@dataclass
class TotalsOfCalls:
    """Takes operators batch by batch. Keeps sums of operators until their parent has ended."""

    # By thread and depth: the start of the first of them, and the sums.
    _pending: dict[tuple[int, int], tuple[int, Int64]] = field(default_factory=dict)

    def add(self, rows: LinkedOperators, own: Int64) -> Int64:
        """Takes the next batch, in the order of ends on each thread.

        Args:
            own: several figures (first axis) of each row (second axis), without what the row called.

        Returns: the same figures, including everything that the row called.
        """
        total = own.copy()
        for thread, places in each_thread(rows.thread):
            pending = [depth for number, depth in self._pending if number == thread]
            if pending or bool(own[:, places].any()):
                self._add_thread(thread, rows, places, pending, total)
        return total

    def _add_thread(
        self, thread: int, rows: LinkedOperators, places: Rows, pending: list[int], total: Int64
    ) -> None:
        depth = rows.depth[places]
        order = np.argsort(depth, kind="stable")
        levels = np.split(places[order], np.flatnonzero(np.diff(depth[order])) + 1)
        of_depth = {int(rows.depth[level[0]]): level for level in levels}
        empty = places[:0]
        for deep in sorted({*of_depth, *pending} - {0}, reverse=True):
            level, parents = of_depth.get(deep, empty), of_depth.get(deep - 1, empty)
            self._raise_level((thread, deep), rows, level, parents, total)

    def _raise_level(
        self, key: tuple[int, int], rows: LinkedOperators, level: Rows, parents: Rows, total: Int64
    ) -> None:
        """Adds each row of a level to its parent: the next later row one level up."""
        first_ns, before = self._pending.pop(key, (-1, None))
        if before is not None and len(parents):
            if first_ns >= rows.start_ns[parents[0]]:
                total[:, parents[0]] += before
            before = None
        place = np.searchsorted(parents, level)
        known = place < len(parents)
        child, parent = level[known], parents[place[known]]
        inside = rows.start_ns[child] >= rows.start_ns[parent]
        for figures in total:
            np.add.at(figures, parent[inside], figures[child[inside]])
        left = level[~known]
        if len(left) or before is not None:
            sums = total[:, left].sum(axis=1)
            is_first = before is None
            start_ns = int(rows.start_ns[left[0]]) if is_first else first_ns
            self._pending[key] = (start_ns, sums if is_first else sums + before)
