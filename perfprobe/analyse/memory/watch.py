"""The pass over the memory of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import group_of, sort_by_keys
from perfprobe.analyse.memory.categories import Lives, categories, lives
from perfprobe.analyse.memory.held import alive, held, timeline
from perfprobe.analyse.memory.moments import Moments, moments
from perfprobe.analyse.memory.owners import Owners, OwnerWatch
from perfprobe.analyse.memory.steps import AliveForBackward, alive_for_backward, growth
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.memory import (
    MemoryCalls,
    MemoryCategories,
    MemoryCategory,
    MemoryLargest,
    MemoryLines,
    MemoryModules,
    MemoryOperators,
    MemoryPhases,
    MemoryUse,
    Storages,
    TensorMemory,
)
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace

MOST_LARGEST = 100


class MemoryWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._memory, self._times = trace.memory, times
        has_any = self._memory is not None and len(self._memory.storages) > 0
        self._owners = OwnerWatch(trace, self._memory.storages) if has_any and self._memory else None

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch, as `Trace.operators` yields it."""
        if self._owners is not None:
            self._owners.add(batch)

    def result(self) -> MemoryUse | None:
        """Returns the sums; None if no memory was recorded."""
        if self._owners is None or self._memory is None:
            return None
        return _use(self._memory, self._owners.result(), moments(self._times))


@frozen
class _Facts:
    """What is known of each storage; sums by operator, line, module and phase are made from it."""

    storages: Storages
    moments: Moments
    is_held: Mask
    at_peak: Mask
    for_backward: AliveForBackward


def _use(memory: TensorMemory, owners: Owners, at: Moments) -> MemoryUse:
    storages = memory.storages
    phase = owners.phase[: len(storages)]
    category = categories(storages, phase, at)
    spans, changes = lives(storages, category, at), held(storages)
    peak_ns, peak_bytes = changes.peak
    for_backward = alive_for_backward(storages, category, at)
    facts = _Facts(storages, at, storages.end_ns < 0, alive(storages, peak_ns), for_backward)
    every = growth(storages, np.zeros(len(storages), np.intp), 1, at)
    steps, own = for_backward.steps, storages.size_bytes[for_backward.storages]
    return MemoryUse(
        peak_bytes=peak_bytes,
        peak_ns=peak_ns,
        allocations=len(storages),
        allocated_bytes=int(storages.size_bytes.sum()),
        held_bytes=int(changes.held_bytes[-1]),
        older_bytes=memory.older_bytes,
        backward_bytes=round(int(own.sum()) / steps) if steps else None,
        growth_bytes=None if every is None else int(every[0]),
        steps=int(np.count_nonzero(at.counts)),
        categories=_by_category(spans, peak_ns),
        operators=MemoryOperators(**_sums(facts, "name", owners.name)),
        lines=MemoryLines(**_sums(facts, "frame", owners.frame)),
        modules=MemoryModules(**_sums(facts, "module", owners.module)),
        phases=MemoryPhases(**_sums(facts, "phase", owners.phase)),
        calls=_calls(facts, owners),
        largest=_largest(storages, category, owners),
        timeline=timeline(changes, spans),
    )


def _by_category(spans: Lives, peak_ns: int) -> MemoryCategories:
    kinds = len(MemoryCategory)
    at_peak = (spans.start_ns <= peak_ns) & (peak_ns < spans.end_ns)
    last_ns = int(spans.end_ns.max())
    at_end = spans.end_ns == last_ns if last_ns >= 2**62 else np.zeros(len(spans.end_ns), np.bool_)

    def size(chosen: Mask) -> Int64:
        found = np.zeros(kinds, np.int64)
        np.add.at(found, spans.category[chosen], spans.size_bytes[chosen])
        return found

    return MemoryCategories(
        category=np.arange(kinds, dtype=np.int8),
        storages=np.bincount(spans.category[at_peak], minlength=kinds).astype(np.int64),
        peak_bytes=size(at_peak),
        held_bytes=size(at_end),
    )


_OWN = ("allocations", "allocated_bytes", "frees", "freed_bytes")


def _calls(facts: _Facts, owners: Owners) -> MemoryCalls:
    """Returns sums of all operators that allocated or freed something, themselves or in their children."""
    own = _sums(facts, "name", owners.innermost)
    count = len(owners.calls)
    columns = {name: np.zeros(count + 1, np.int64) for name in _OWN}
    for name, values in columns.items():
        values[own["name"]] = own[name]  # name -1 (no operator) is the last place
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


def _largest(storages: Storages, category: Int8, owners: Owners) -> MemoryLargest:
    chosen = np.argsort(-storages.size_bytes, kind="stable")[:MOST_LARGEST]
    return MemoryLargest(
        name=owners.name[chosen],
        innermost=owners.innermost[chosen],
        frame=owners.frame[chosen],
        category=category[chosen],
        size_bytes=storages.size_bytes[chosen],
        start_ns=storages.start_ns[chosen],
        end_ns=storages.end_ns[chosen],
    )


def _sums(facts: _Facts, key: str, keys: npt.NDArray[Any] | Int8) -> dict[str, npt.NDArray[Any]]:
    """Returns the columns of `MemorySums` for each key, most bytes at the peak first.

    keys: of all allocations, then of all frees.
    """
    count = len(facts.storages)
    freed = np.flatnonzero(facts.storages.end_ns >= 0)
    chosen = np.append(np.arange(count), count + freed)
    order, first = sort_by_keys([keys[chosen]])
    group = group_of(order, first)
    own, freeing = group[:count], group[count:]
    size = facts.storages.size_bytes

    def total(of: Rows, values: Int64) -> Int64:
        found = np.zeros(len(first), np.int64)
        np.add.at(found, of, values)
        return found

    alive_rows, steps = facts.for_backward.storages, facts.for_backward.steps
    backward = total(own[alive_rows], size[alive_rows])
    grown = growth(facts.storages, own, len(first), facts.moments)
    found = {
        key: keys[chosen][order[first]],
        "allocations": total(own, np.ones(count, np.int64)),
        "allocated_bytes": total(own, size),
        "frees": total(freeing, np.ones(len(freed), np.int64)),
        "freed_bytes": total(freeing, size[freed]),
        "held_bytes": total(own, size * facts.is_held),
        "peak_bytes": total(own, size * facts.at_peak),
        "backward_bytes": backward // steps if steps else np.full(len(first), -1, np.int64),
        "growth_bytes": np.full(len(first), -1, np.int64) if grown is None else grown,
    }
    rank = np.lexsort((-found["allocated_bytes"], -found["peak_bytes"]))
    return {name: values[rank] for name, values in found.items()}
