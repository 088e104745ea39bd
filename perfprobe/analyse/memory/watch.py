"""The pass over the memory of tensors."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.memory.moments import moments
from perfprobe.analyse.memory.owners import OwnerWatch
from perfprobe.analyse.memory.summing import Summing
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.memory import (
    MemoryCalls,
    MemoryLines,
    MemoryModules,
    MemoryOperators,
    MemoryPhases,
    MemoryUse,
    TensorMemory,
)
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace


class MemoryWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._watch: _Watch | None = None
        if trace.memory is not None and trace.memory.allocations > 0:
            self._watch = _Watch(trace, trace.memory, times)

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch, as `Trace.operators` yields it."""
        if self._watch is not None:
            self._watch.add(batch)

    def result(self) -> MemoryUse | None:
        """Returns the use of memory; None if no memory was recorded."""
        return None if self._watch is None else self._watch.result()


class _Watch:
    def __init__(self, trace: Trace, memory: TensorMemory, times: StepTimes) -> None:
        self._memory, self._moments = memory, moments(times)
        self._owners = OwnerWatch(trace, memory)
        self._summing = Summing(memory, self._moments)

    def add(self, batch: LinkedOperators) -> None:
        self._summing.add(*self._owners.add(batch))

    def result(self) -> MemoryUse:
        self._summing.add(*self._owners.rest())
        memory, found = self._memory, self._summing
        count, steps = len(found.groups), found.for_backward.steps
        every = found.growth.result(np.zeros(count, np.intp), 1)
        backward_bytes = int(found.for_backward.result(count).sum())
        return MemoryUse(
            peak_bytes=memory.peak_bytes,
            peak_ns=memory.peak_ns,
            allocations=memory.allocations,
            allocated_bytes=memory.allocated_bytes,
            held_bytes=memory.held_bytes,
            older_bytes=memory.older_bytes,
            backward_bytes=round(backward_bytes / steps) if steps else None,
            growth_bytes=None if every is None else int(every[0]),
            steps=int(np.count_nonzero(self._moments.counts)),
            categories=found.held.categories(),
            operators=MemoryOperators(**found.by("name")),
            lines=MemoryLines(**found.by("frame")),
            modules=MemoryModules(**found.by("module")),
            phases=MemoryPhases(**found.by("phase")),
            calls=self._calls(),
            largest=found.largest.result(found.groups),
            timeline=found.held.timeline(),
        )

    def _calls(self) -> MemoryCalls:
        """Returns each operator with an allocation or free in itself or in its children."""
        own, owners = self._summing.by("innermost"), self._owners
        count = len(owners.calls)
        columns = {
            name: np.zeros(count + 1, np.int64)
            for name in ("allocations", "allocated_bytes", "frees", "freed_bytes")
        }
        for name, values in columns.items():
            values[own["innermost"]] = own[name]  # -1, without an operator, is the last place
        allocations, size_bytes, freed_bytes = (np.append(total, 0) for total in owners.totals)
        some = np.flatnonzero((allocations + freed_bytes + columns["allocations"] + columns["frees"]) > 0)
        return MemoryCalls(
            name=np.where(some < count, some, -1).astype(np.int32),
            calls=np.append(owners.calls, 0)[some],
            **{name: values[some] for name, values in columns.items()},
            total_allocations=allocations[some],
            total_allocated_bytes=size_bytes[some],
            total_freed_bytes=freed_bytes[some],
        )
