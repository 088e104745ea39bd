"""Finds the operator that each allocation and each free was in, while the operators are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.memory.totals import TotalsOfCalls
from perfprobe.models.memory_events import Columns, Feed, Waiting, deepest, over_ns
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, Table, column
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.memory import MemoryChanges, NumberedStorages, TensorMemory
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import Phase, Sites, Trace

_COLUMNS = ("start_ns", "end_ns", "thread", "depth", "name", "frame", "module", "phase", "scope")
# Operators that only allocate memory for the operator around them.
_ALLOCATE = ("aten::empty", "aten::new_empty", "aten::_empty", "aten::resize")
_FREE = -1  # in place of a number


class Owned(Table):
    """Allocations and frees, with the operator, line, module and phase that they were in. -1 is none."""

    number: Int64 = column("the number of the storage that it allocated, -1 if it freed one")
    size_bytes: Int64 = column("the size of the storage")
    stack: Int32 = column("the Python stack of an allocation outside of operators", Stacks)
    innermost: Int32 = column("the innermost operator or range", Strings)
    name: Int32 = column("the innermost operator that does more than allocate, as `aten::empty` does")
    frame: Int32 = column("the user's line")
    module: Int32 = column("the nn.Module")
    phase: Int8 = column("a `Phase`")


class OwnerWatch:
    """Takes the operators of a trace batch by batch.

    Attributes:
        calls: for each text, the number of operators with this name.
        totals: for each text, allocations, their bytes, and freed bytes within operators of this name.
    """

    def __init__(self, trace: Trace, memory: TensorMemory) -> None:
        strings = trace.recording[Strings]
        self._sites, self._feed, self._waiting = trace.sites, Feed(memory), Waiting()
        self._allocates = np.append(strings.marks(lambda text: text.startswith(_ALLOCATE)), False)
        self._risen = TotalsOfCalls()
        self._known: list[Owned] = []
        self.calls = np.zeros(len(strings), np.int64)
        self.totals = np.zeros((3, len(strings)), np.int64)

    def add(self, batch: LinkedOperators) -> tuple[Owned, NumberedStorages]:
        """Takes the next batch, as `Trace.operators` yields it.

        Returns: allocations and frees with owners that are known now, and storages that ended.
        """
        ended = self._take(self._feed.until(int(batch.end_ns.max())))
        rows = LinkedOperators.part({name: getattr(batch, name) for name in _COLUMNS})
        own = np.zeros((3, len(rows)), np.int64)
        for thread, places in each_thread(rows.thread):
            if self._waiting.of(thread) is not None:
                self._add_thread(thread, rows.take(places), places, own)
        self._add_totals(rows, own)
        return self._taken(), ended

    def rest(self) -> tuple[Owned, NumberedStorages]:
        """Returns the remaining allocations, frees and storages, after all operators have been read."""
        ended = self._take(self._feed.until(np.iinfo(np.int64).max))
        for thread in self._waiting.threads():
            waiting = self._waiting.of(thread) or {}
            self._note(self._waiting.take(thread, np.ones(len(waiting["time_ns"]), np.bool_)))
        return self._taken(), ended

    def _take(self, stretches: Sequence[MemoryChanges]) -> NumberedStorages:
        for changes in stretches:
            begun, ended = changes.begun, changes.ended.take(changes.ended.end_ns >= 0)
            is_known = ended.freed_thread >= 0
            freed, lost = ended.take(is_known), ended.take(~is_known)
            self._note(_events(NumberedStorages.empty(), lost))
            self._waiting.add(np.append(begun.thread, freed.freed_thread), _events(begun, freed))
        return NumberedStorages.concat([changes.ended for changes in stretches])

    def _add_thread(self, thread: int, rows: LinkedOperators, places: Rows, own: Int64) -> None:
        waiting = self._waiting.of(thread) or {}
        named = np.flatnonzero(rows.name >= 0)
        fresh = np.flatnonzero(waiting["innermost"] < 0)
        row, event = _deepest(waiting["time_ns"], fresh, rows, named)
        for name in ("frame", "module", "phase"):
            waiting[name][event] = getattr(rows, name)[row]
        waiting["innermost"][event] = rows.name[row]
        self._add_own(own, places[row], {name: values[event] for name, values in waiting.items()})
        makes = ~self._allocates[rows.name[row]]
        waiting["name"][event[makes]] = rows.name[row[makes]]
        left = np.flatnonzero((waiting["name"] < 0) & (waiting["innermost"] >= 0))
        row, event = _deepest(waiting["time_ns"], left, rows, named[~self._allocates[rows.name[named]]])
        waiting["name"][event] = rows.name[row]
        is_over = waiting["time_ns"] <= over_ns(rows.end_ns, rows.depth)
        self._note(self._waiting.take(thread, (waiting["name"] >= 0) | is_over))

    def _add_own(self, own: Int64, row: Rows, events: Columns) -> None:
        is_free = events["number"] == _FREE
        begun, freed = row[~is_free], row[is_free]
        np.add.at(own[0], begun, 1)
        np.add.at(own[1], begun, events["size_bytes"][~is_free])
        np.add.at(own[2], freed, events["size_bytes"][is_free])

    def _add_totals(self, rows: LinkedOperators, own: Int64) -> None:
        is_operator = (rows.name >= 0) & (rows.scope != USER_SCOPE)
        names = rows.name[is_operator]
        self.calls += np.bincount(names, minlength=len(self.calls))
        for total, values in zip(self.totals, self._risen.add(rows, own), strict=True):
            np.add.at(total, names, values[is_operator])

    def _note(self, events: Columns) -> None:
        """Notes events with a known owner. The owner of those outside of operators is their own stack."""
        apart = np.flatnonzero(events["stack"] >= 0)
        stack, sites = events["stack"][apart], self._sites
        events["frame"][apart] = sites.frame[stack]
        events["module"][apart] = sites.module[stack]
        events["phase"][apart] = _phase_of(sites, stack)
        events["name"] = np.where(events["name"] >= 0, events["name"], events["innermost"])
        self._known.append(Owned(**{name: events[name] for name in Owned.dtypes}))

    def _taken(self) -> Owned:
        known, self._known = Owned.concat(self._known), []
        return known


def _events(begun: NumberedStorages, freed: NumberedStorages) -> Columns:
    rows = len(begun) + len(freed)
    none = {name: np.full(rows, -1, np.int32) for name in ("innermost", "name", "frame", "module")}
    return {
        "time_ns": np.append(begun.start_ns, freed.end_ns),
        "number": np.append(begun.number, np.full(len(freed), _FREE, np.int64)),
        "size_bytes": np.append(begun.size_bytes, freed.size_bytes),
        "stack": np.append(begun.stack, np.full(len(freed), -1, np.int32)),
        "phase": np.full(rows, Phase.OTHER, np.int8),
        **none,
    }


def _deepest(time_ns: Int64, events: Rows, rows: LinkedOperators, chosen: Rows) -> tuple[Rows, Rows]:
    """Returns the events that are inside a chosen row, and the deepest such row of each: rows, events."""
    found = deepest(time_ns[events], rows.start_ns[chosen], rows.end_ns[chosen], rows.depth[chosen])
    is_inside = found >= 0
    return chosen[found[is_inside]], events[is_inside]


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
