"""Training steps, from the ranges that torch itself sets: those of optimizers, and of torch.profiler.

A step ends with the range `Optimizer.step#...` on the main thread, or where that one steps no optimizer on
the thread that steps most. Optimizers that follow each other without backward in between end one step
together. The first step begins with the first operator: it has what sets the program up. A program that sets
`ProfilerStep#...` (torch.profiler does) has said itself what its steps are.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask, distinct
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu_findings import Steps
from perfprobe.tables.scopes import BACKWARD_FUNCTION, USER_SCOPE
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_OPTIMIZER = "Optimizer.step#"
_PROFILER = "ProfilerStep#"
MOST_NODES = 1_048_576  # of backward, whose times are kept; then only one in each stretch of time


class StepBoundaries:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._optimizers = _Named(trace, _OPTIMIZER)
        self._profiled = _Named(trace, _PROFILER)
        self._backward = _Times()
        self._first_ns: int | None = None

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        first_ns = int(batch.start_ns.min())
        self._first_ns = first_ns if self._first_ns is None else min(first_ns, self._first_ns)
        is_range = batch.scope == USER_SCOPE
        if bool(is_range.any()):
            ranges = batch.take(is_range)
            self._optimizers.add(ranges)
            self._profiled.add(ranges)
        self._backward.add(batch.start_ns[batch.scope == BACKWARD_FUNCTION])

    def result(self) -> Steps:
        """All steps, none within another, in their order."""
        start_ns, end_ns = self._profiled.on_main_thread()
        if len(start_ns) == 0 and self._first_ns is not None:
            _, end_ns = self._optimizers.on_main_thread()
            nodes_before = np.searchsorted(self._backward.sorted(), end_ns)
            is_last = np.append(nodes_before[1:] > nodes_before[:-1], True)[: len(end_ns)]
            end_ns = end_ns[is_last]
            start_ns = np.append(np.int64(self._first_ns), end_ns[:-1])[: len(end_ns)]
        rows = Steps(start_ns, end_ns)
        return rows.take(end_ns > start_ns)


class _Named:
    """The ranges whose names begin so."""

    def __init__(self, trace: Trace, prefix: str) -> None:
        names = trace.recording[Strings].text
        self._is_meant = np.array([*(text.startswith(prefix) for text in names), False], np.bool_)
        self._os_threads, self._is_main = trace.recording.os_threads(), trace.recording.main_thread()
        self._parts: list[LinkedOperators] = []

    def add(self, ranges: LinkedOperators) -> None:
        meant: Mask = self._is_meant[ranges.name]
        if bool(meant.any()):
            self._parts.append(ranges.take(meant))

    def on_main_thread(self) -> tuple[Int64, Int64]:
        """Start and end of each, those within others left out, on the thread that the steps run on."""
        rows = LinkedOperators.concat(self._parts)
        if len(rows) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        thread, count = np.unique(self._os_threads[rows.thread], return_counts=True)
        main = distinct(self._os_threads[rows.thread[self._is_main[rows.thread]]])
        chosen = int(main[0]) if len(main) else int(thread[np.argmax(count)])
        rows = rows.take(self._os_threads[rows.thread] == chosen)
        rows = rows.take(np.lexsort((-rows.end_ns, rows.start_ns)))
        outermost = np.append(True, rows.end_ns[1:] > np.maximum.accumulate(rows.end_ns)[:-1])
        rows = rows.take(outermost)
        return rows.start_ns, rows.end_ns


class _Times:
    """Points in time, as many as memory is to hold; of more only one in each stretch of time."""

    def __init__(self) -> None:
        self._kept = np.empty(0, np.int64)
        self._parts: list[Int64] = []
        self._new = 0
        self._stretch_ns = 1

    def add(self, time_ns: Int64) -> None:
        self._parts.append(time_ns)
        self._new += len(time_ns)
        if self._new > MOST_NODES:
            self.sorted()
            self._thin()
            while len(self._kept) > MOST_NODES // 2:
                self._stretch_ns *= 2
                self._thin()

    def _thin(self) -> None:
        _, first = np.unique(self._kept // self._stretch_ns, return_index=True)
        self._kept = self._kept[first]

    def sorted(self) -> Int64:
        """All of them, each time once."""
        self._kept = distinct(np.concatenate([self._kept, *self._parts]))
        self._parts, self._new = [], 0
        return self._kept
