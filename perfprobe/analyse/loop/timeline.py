"""The phases of each thread in their order: its outermost operators, joined while the phase is the same.

Ranges are ignored here. A program has far fewer segments than operators: about ten in each step.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.between import outermost
from perfprobe.analyse.grouping import first_of_each
from perfprobe.analyse.loop.call_starts import CallStarts
from perfprobe.analyse.loop.labels import Labels
from perfprobe.analyse.loop.regions import Regions
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.trace import Phase, Trace

MOST_SEGMENTS = 393_216  # with more, on all threads together, short ones are joined with their neighbours
LATEST_NS = 2**62  # later than any clock; a difference of two such times still fits into int64
_NEAR_NS = 50_000  # a longer gap ends a segment outside of regions
_NEAR_IN_REGION_NS = 1_000_000  # a longer gap ends a segment in a region

_COLUMNS = (
    *("start_ns", "end_ns", "scope", "thread", "stack", "phase", "name", "signature"),
    "forward_stack",
)


class Segments(Table):
    """Stretches of one phase on a thread, ordered by time, without overlaps."""

    start_ns: Int64 = column("when its first operator began")
    end_ns: Int64 = column("when its last one ended")
    phase: Int8 = column("a `StepPhase`")
    anchor: Int32 = column("the region, as in `Regions`, 0 none")
    first: Int32 = column("the stack of its first operator", Stacks)
    last: Int32 = column("the stack of its last one", Stacks)
    first_signature: Int32 = column("the inputs of its first operator", Signatures)
    last_signature: Int32 = column("the inputs of its last one", Signatures)
    is_trained: Mask = column("whether backward refers to one of its operators")
    call: Int32 = column("number of the call of an outermost module that began last on the thread, -1 none")


class Timeline:
    """Takes the operators of a trace batch by batch. rows: by the system's number of a thread, its row."""

    def __init__(self, trace: Trace, regions: Regions) -> None:
        self.rows: dict[int, int] = {}
        self._regions = regions
        self._calls = CallStarts(trace.recording)
        self._os_threads = trace.recording.os_threads()
        self._labels = Labels(trace, regions)
        self._parts: dict[int, list[Segments]] = {}
        self._inner: dict[int, list[Segments]] = {}
        self._last_ns: dict[int, int] = {}
        self._held = 0
        self._stretch_ns = 1_000
        self._is_referred = np.zeros(len(trace.recording[Stacks]) + 1, np.bool_)  # by backward

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        batch = LinkedOperators.part({name: getattr(batch, name) for name in _COLUMNS})
        self._is_referred[batch.forward_stack] = True
        possible = is_possible(batch.start_ns, batch.end_ns)
        if not bool(possible.all()):
            batch = batch.take(possible)
        if len(batch) == 0:
            return
        first = first_of_each(batch.thread)
        for start, end in zip(first.tolist(), np.append(first[1:], len(batch)).tolist(), strict=True):
            thread = int(self._os_threads[batch.thread[start]])
            self.rows.setdefault(thread, int(batch.thread[start]))
            own = batch.take(slice(start, end))
            rows = own.take(outermost(own.start_ns, own.scope))
            rows = rows.take(rows.end_ns > self._last_ns.get(thread, -1))
            if len(rows):
                self._add_thread(thread, rows)
            inner = own.take((own.phase == Phase.RECOMPUTE) | (own.phase == Phase.COMPILE))
            if len(inner):
                self._add_inner(thread, inner.take(outermost(inner.start_ns, inner.scope)))
        if self._held > MOST_SEGMENTS:
            self._thin()

    def threads(self) -> list[int]:
        """The threads that ran operators."""
        return list(self._parts)

    def segments(self, thread: int) -> Segments:
        """All segments of a thread."""
        rows = Segments.concat(self._parts.get(thread, []))
        self._parts[thread] = [rows]
        referred = np.flatnonzero(self._is_referred[:-1])
        trained = np.zeros(len(self._is_referred) + 2, np.bool_)
        trained[self._regions.anchor[referred]] = True
        is_trained = np.where(rows.anchor > 0, trained[rows.anchor], rows.is_trained)
        return Segments(**rows.columns() | {"is_trained": is_trained})

    def within(self, thread: int) -> Segments:
        """Recomputation and compiling on a thread. They may be inside operators."""
        self._inner[thread] = [_near(Segments.concat(self._inner.get(thread, [])))]
        return self._inner[thread][0]

    def has_calls(self, thread: int) -> bool:
        """Whether the calls of outermost modules on this thread are known: `call` tells them apart."""
        return self._calls.are_known(thread)

    def _add_inner(self, thread: int, rows: LinkedOperators) -> None:
        """Add segments of operators that may be inside others."""
        if len(rows):
            found = self._segments(rows, *self._labels.of(rows), None)
            self._inner.setdefault(thread, []).append(_near(found))

    def _add_thread(self, thread: int, rows: LinkedOperators) -> None:
        start_ns = np.maximum(rows.start_ns, self._last_ns.get(thread, -1))
        end_ns = np.maximum.accumulate(np.maximum(rows.end_ns, start_ns))
        start_ns = np.maximum(start_ns, np.append(start_ns[:1], end_ns[:-1]))
        rows = LinkedOperators.part(rows.columns() | {"start_ns": start_ns, "end_ns": end_ns})
        call = self._calls.of(thread, end_ns) if self._calls.are_known(thread) else None
        found = self._segments(rows, *self._labels.of(rows), call)
        self._last_ns[thread] = int(end_ns[-1])
        self._parts.setdefault(thread, []).append(found)
        self._held += len(found)

    def _segments(self, rows: LinkedOperators, phase: Int8, anchor: Int32, call: Int32 | None) -> Segments:
        first = np.flatnonzero(_begins(rows, phase, anchor, call))
        last = np.append(first[1:], len(rows)) - 1
        return Segments(
            start_ns=rows.start_ns[first],
            end_ns=rows.end_ns[last],
            phase=phase[first],
            anchor=anchor[first],
            first=rows.stack[first],
            last=rows.stack[last],
            first_signature=rows.signature[first],
            last_signature=rows.signature[last],
            is_trained=np.logical_or.reduceat(rows.phase == Phase.FORWARD, first),
            call=np.full(len(first), -1, np.int32) if call is None else call[first],
        )

    def _thin(self) -> None:
        """Join short segments until at most half of `MOST_SEGMENTS` are left. The longest gives the phase."""
        while self._held > MOST_SEGMENTS // 2:
            self._stretch_ns *= 2
            self._parts = {
                thread: [_joined(Segments.concat(parts), self._stretch_ns)]
                for thread, parts in self._parts.items()
            }
            self._held = sum(len(parts[0]) for parts in self._parts.values())


def is_possible(start_ns: Int64, end_ns: Int64) -> Mask:
    """Returns which rows have possible times. Those of a damaged recording would make sums overflow."""
    return np.asarray((start_ns >= 0) & (end_ns >= start_ns) & (end_ns < LATEST_NS))


def _begins(rows: LinkedOperators, phase: Int8, anchor: Int32, call: Int32 | None) -> Mask:
    """Returns which operators begin a segment. call: that of each, if known."""
    near_ns = np.where(anchor[1:] > 0, _NEAR_IN_REGION_NS, _NEAR_NS)
    same = (phase[1:] == phase[:-1]) & (anchor[1:] == anchor[:-1])
    begins = np.append(True, ~same | (rows.start_ns[1:] - rows.end_ns[:-1] > near_ns))
    if call is not None:
        return np.asarray(begins | np.append(True, call[1:] != call[:-1]))
    # If the first operator of a module occurs again, the module may have been called again from this line.
    places = np.arange(len(begins))
    run = np.maximum.accumulate(np.where(begins, places, 0))
    again = (phase == StepPhase.FORWARD) & (anchor > 0) & (rows.stack == rows.stack[run])
    return np.asarray(begins | again)


def _near(rows: Segments) -> Segments:
    """Join segments of one phase with less than _NEAR_IN_REGION_NS between them."""
    if len(rows) == 0:
        return rows
    rows = rows.take(np.argsort(rows.start_ns, kind="stable"))
    end_ns = np.maximum.accumulate(rows.end_ns)
    far = rows.start_ns[1:] - end_ns[:-1] > _NEAR_IN_REGION_NS
    first = np.flatnonzero(np.append(True, far | (rows.phase[1:] != rows.phase[:-1])))
    last = np.append(first[1:], len(rows)) - 1
    return Segments(**rows.take(first).columns() | {"end_ns": end_ns[last]})


def _joined(rows: Segments, stretch_ns: int) -> Segments:
    """Join all segments that begin in the same stretch_ns of time."""
    first = first_of_each(rows.start_ns // stretch_ns)
    last = np.append(first[1:], len(rows)) - 1
    group = np.repeat(np.arange(len(first)), last - first + 1)
    longest = np.lexsort((rows.start_ns - rows.end_ns, group))[first]
    columns = rows.take(longest).columns() | {"start_ns": rows.start_ns[first], "end_ns": rows.end_ns[last]}
    return Segments(**columns)
