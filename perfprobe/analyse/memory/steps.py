"""Memory that forward keeps for backward, and memory that grows from step to step."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.growth import is_growing, sampled
from perfprobe.analyse.memory.categories import ends
from perfprobe.analyse.memory.groups import Sums, merged
from perfprobe.analyse.memory.moments import Moments
from perfprobe.models.intervals import median_slope
from perfprobe.tables.columns import Int8, Int64, Rows
from perfprobe.tables.memory import MemoryCategory, Storages

_MOST_PARTS = 1 << 20  # changes that are kept before they are added up


class AliveForBackward:
    """Storages that forward allocated and that were alive when the backward of their step began.

    Only steps that count in averages are included. In a step with several calls of backward, the call with
    most bytes counts. A storage counts once.
    """

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        number = len(moments.backwards.start_ns)
        of_step = np.bincount(moments.step_of, minlength=len(moments.counts))
        self._is_only = of_step[moments.step_of] == 1
        self._changes = np.zeros(number + 1, np.int64)
        self._of_only = Sums()
        self._parts: list[Int64] = []  # calls of backward, groups and bytes, of steps with several calls
        self._part_rows = 0

    def add(self, storages: Storages, category: Int8, group: Rows) -> None:
        """Adds more storages. Those of category `ACTIVATION` count, in the step that allocated them."""
        moments, chosen = self._moments, np.flatnonzero(category == MemoryCategory.ACTIVATION)
        begin_ns = moments.backwards.start_ns
        first = np.searchsorted(begin_ns, storages.start_ns[chosen], side="left")
        last = np.searchsorted(begin_ns, ends(storages)[chosen], side="left")
        own = moments.steps.around(storages.start_ns[chosen])
        last = np.minimum(last, np.searchsorted(moments.step_of, own, side="right"))
        is_inside = (own >= 0) & (first < last)
        chosen, first, last = (each[is_inside] for each in (chosen, first, last))
        size_bytes, groups = storages.size_bytes[chosen], group[chosen]
        np.add.at(self._changes, first, size_bytes)
        np.subtract.at(self._changes, last, size_bytes)
        is_only = self._is_only[first]
        counts = is_only & moments.counts[moments.step_of[first]]
        self._of_only.add(groups[counts], size_bytes[counts])
        self._add_parts(first[~is_only], last[~is_only], groups[~is_only], size_bytes[~is_only])

    def _add_parts(self, first: Rows, last: Rows, group: Rows, size_bytes: Int64) -> None:
        """Adds changes of the bytes alive in a step: plus at its first backward, minus after its last."""
        if len(first) == 0:
            return
        begins = np.stack([first, first, group, size_bytes])
        over = np.stack([first, last, group, -size_bytes])
        self._parts.append(np.concatenate([begins, over], axis=1))
        self._part_rows += 2 * len(first)
        if self._part_rows > _MOST_PARTS:
            self._add_up()

    def _add_up(self) -> None:
        first, call, group, size_bytes = np.concatenate(self._parts, axis=1)
        step = self._moments.step_of[first]
        order = np.lexsort((group, call, step))
        keys = np.stack([step, call, group])[:, order]
        is_first = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
        starts = np.flatnonzero(is_first)
        summed = np.add.reduceat(size_bytes[order], starts)
        self._parts = [np.stack([first[order][starts], call[order][starts], group[order][starts], summed])]
        self._part_rows = 0

    @property
    def steps(self) -> int:
        """The number of steps with a call of backward."""
        return int(np.count_nonzero(self._best() >= 0))

    def result(self, groups: int) -> Int64:
        """Returns the bytes of each group, summed over the steps."""
        found = self._of_only.of(groups)
        if self._parts:
            first, call, group, size_bytes = np.concatenate(self._parts, axis=1)
            best = self._best()[self._moments.step_of[first]]
            counts = (best >= 0) & (call <= best)
            np.add.at(found, (group[counts], 0), size_bytes[counts])
        return found[:, 0]

    def _best(self) -> Rows:
        """Returns the call of backward with most bytes alive, for each step that counts; -1 without one."""
        alive_bytes = np.cumsum(self._changes)[:-1]
        best = np.full(len(self._moments.counts), -1, np.intp)
        order = np.lexsort((-np.arange(len(alive_bytes)), alive_bytes))
        best[self._moments.step_of[order]] = order  # the last one written for a step has most bytes
        return np.where(self._moments.counts, best, -1)


class Growth:
    """The growth of each group's memory in a step: the median slope over all pairs of steps.

    0 for groups that do not grow in every quarter of the steps.
    """

    def __init__(self, moments: Moments) -> None:
        self._steps = sampled(np.flatnonzero(moments.counts))
        self._at_ns = moments.steps.end_ns[self._steps]
        self._changes = Sums(len(self._steps) + 1)

    def add(self, storages: Storages, group: Rows) -> None:
        """Adds more storages. group: the group of each."""
        if len(self._steps) == 0:
            return
        first = np.searchsorted(self._at_ns, storages.start_ns, side="left")
        last = np.searchsorted(self._at_ns, ends(storages), side="left")
        chosen = np.flatnonzero(first < last)
        self._changes.add(group[chosen], storages.size_bytes[chosen], first[chosen])
        self._changes.add(group[chosen], -storages.size_bytes[chosen], last[chosen])

    def result(self, row: Rows, rows: int) -> Int64 | None:
        """Returns the growth of groups that are added up into rows; None with fewer than three steps.

        Args:
            row: the row of each group.
            rows: the number of rows.
        """
        if len(self._steps) == 0:
            return None
        changes = merged(self._changes.of(len(row)), row, rows)
        held_bytes = np.cumsum(changes, axis=1)[:, :-1]
        found = np.zeros(rows, np.int64)
        for each in np.flatnonzero(is_growing(held_bytes)).tolist():
            found[each] = max(median_slope(held_bytes[each], self._steps), 0)
        return found
