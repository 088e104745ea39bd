"""Finds the operator of each allocation and each free, while operators are read batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.models.allocated import AllocatedWithin
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.memory import Storages
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import Phase, Sites, Trace

_COLUMNS = ("start_ns", "end_ns", "thread", "depth", "name", "frame", "module", "phase", "scope")
# Operators that only allocate for the operator around them.
_ALLOCATE = ("aten::empty", "aten::new_empty", "aten::_empty", "aten::resize")


@frozen
class Owners:
    """The operator, line, module and phase of each allocation, then of each free. -1 is none.

    Both are in the order of `Storages`.

    Attributes:
        innermost: name of the innermost operator or range.
        name: the same, but of the outer operator if the innermost one only allocates, as `aten::empty` does.
        calls: for each text, the number of operators with that name.
        totals: for each text, number and bytes of allocations, and freed bytes, in operators of that name.
    """

    innermost: Int32
    name: Int32
    frame: Int32
    module: Int32
    phase: Int8
    calls: Int64
    totals: tuple[Int64, Int64, Int64]


class _Deepest:
    """For each event, values of the deepest operator found so far that contains it.

    Operators are ordered by their ends: an outer operator comes after inner ones, perhaps in a later batch.
    """

    def __init__(self, events: int, **empty: int) -> None:
        self._depth = np.full(events, -1, np.int32)
        self.found: dict[str, npt.NDArray[Any]] = {
            name: np.full(events, value, LinkedOperators.dtypes[name]) for name, value in empty.items()
        }

    def add(self, event: Rows, row: Rows, rows: LinkedOperators) -> None:
        """Takes events and, for each, a row that contains it. An event may repeat, with rising depth."""
        is_deeper = rows.depth[row] > self._depth[event]
        event, row = event[is_deeper], row[is_deeper]
        self._depth[event] = rows.depth[row]
        for name, values in self.found.items():
            values[event] = getattr(rows, name)[row]


class OwnerWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace, storages: Storages) -> None:
        self._trace, self._storages = trace, storages
        events, strings = 2 * len(storages), trace.recording[Strings]
        self._innermost = _Deepest(events, name=-1, frame=-1, module=-1, phase=Phase.OTHER)
        self._maker = _Deepest(events, name=-1)
        self._allocates = np.append(strings.marks(lambda text: text.startswith(_ALLOCATE)), False)
        self._events = _by_thread(storages)
        self._within = AllocatedWithin(storages)
        self._calls = np.zeros(len(strings), np.int64)
        self._totals = tuple(np.zeros(len(strings), np.int64) for _ in range(3))

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch, as `Trace.operators` yields it."""
        rows = LinkedOperators.part({name: getattr(batch, name) for name in _COLUMNS})
        named = rows.name[(rows.name >= 0) & (rows.scope != USER_SCOPE)]
        self._calls += np.bincount(named, minlength=len(self._calls))
        for thread, own in each_thread(rows.thread):
            if thread in self._events:
                self._add_thread(rows.take(own), *self._events[thread])

    def _add_thread(self, rows: LinkedOperators, time_ns: Int64, event: Rows) -> None:
        first = np.searchsorted(time_ns, rows.start_ns, side="left")
        last = np.searchsorted(time_ns, rows.end_ns, side="right")
        holds = np.flatnonzero((last > first) & (rows.name >= 0))
        if len(holds) == 0:
            return
        self._add_totals(rows.take(holds[rows.scope[holds] != USER_SCOPE]))
        holds = holds[np.argsort(rows.depth[holds], kind="stable")]
        counts = (last - first)[holds]
        row = np.repeat(holds, counts)
        held = event[np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + first[row]]
        self._innermost.add(held, row, rows)
        is_maker = ~self._allocates[rows.name[row]]
        self._maker.add(held[is_maker], row[is_maker], rows)

    def _add_totals(self, rows: LinkedOperators) -> None:
        sums = self._within.of(rows.thread, rows.start_ns, rows.end_ns)
        amounts = (sums.allocations, sums.allocated_bytes, sums.freed_bytes)
        for total, values in zip(self._totals, amounts, strict=True):
            np.add.at(total, rows.name, values)

    def result(self) -> Owners:
        """Returns the owners. An allocation outside of operators has line, module and phase of its stack."""
        apart = np.flatnonzero(self._storages.stack >= 0)
        stack, sites = self._storages.stack[apart], self._trace.sites
        found = self._innermost.found
        found["frame"][apart] = sites.frame[stack]
        found["module"][apart] = sites.module[stack]
        found["phase"][apart] = _phase_of(sites, stack)
        innermost, maker = found["name"], self._maker.found["name"]
        allocations, size_bytes, freed_bytes = self._totals
        return Owners(
            innermost=innermost,
            name=np.where(maker >= 0, maker, innermost),
            frame=found["frame"],
            module=found["module"],
            phase=found["phase"],
            calls=self._calls,
            totals=(allocations, size_bytes, freed_bytes),
        )


def _phase_of(sites: Sites, stack: Int32) -> Int8:
    """Returns the phase of Python code outside of operators."""
    found = np.full(len(stack), Phase.OTHER, np.int8)
    marks: tuple[tuple[Mask, Phase], ...] = (
        (sites.module[stack] >= 0, Phase.FORWARD),
        (sites.is_data[stack], Phase.DATA),
        (sites.is_optimizer[stack], Phase.OPTIMIZER),
        (sites.is_compile[stack], Phase.COMPILE),
    )
    for mask, phase in marks:
        found[mask] = phase
    return found


def _by_thread(storages: Storages) -> dict[int, tuple[Int64, Rows]]:
    """Returns the times of each thread's events, in order, with the number of each event."""
    thread = np.append(storages.thread, np.where(storages.end_ns >= 0, storages.freed_thread, -1))
    time_ns = np.append(storages.start_ns, storages.end_ns)
    found = {}
    for number, event in each_thread(thread):
        if number >= 0:
            ordered = event[np.argsort(time_ns[event], kind="stable")]
            found[number] = (time_ns[ordered], ordered)
    return found
