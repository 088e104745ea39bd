"""Ranges that show what a training loop does: torch's ranges of loaders and optimizers, and steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.analyse.loop.timeline import is_possible
from perfprobe.tables.columns import Int32, Int64, Mask, Table, column
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.ranges import Ranges, RangeSource
from perfprobe.tables.scopes import (
    LOADER_RANGE,
    OPTIMIZER_RANGE,
    PROFILER_RANGE,
    STEP_MARK,
    STEP_NAME,
    USER_SCOPE,
    ZERO_GRAD_RANGE,
)
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread
from perfprobe.tables.trace import Phase, Trace

NEXT, OPTIMIZER, ZERO_GRAD, PROFILER, PROGRAM = range(5)
PREFIXES = {
    NEXT: LOADER_RANGE,
    OPTIMIZER: OPTIMIZER_RANGE,
    ZERO_GRAD: ZERO_GRAD_RANGE,
    PROFILER: PROFILER_RANGE,
}


class Spans(Table):
    """Ranges of one kind on a thread, ordered by time, none within another."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    stack: Int32 = column("the stack that opened it", Stacks)


@dataclass
class _Thread:
    parts: dict[int, list[Spans]] = field(default_factory=dict)


class NamedSpans:
    """Takes the operators of a trace batch by batch. rows: by the system's number of a thread, its row."""

    def __init__(self, trace: Trace) -> None:
        self.rows: dict[int, int] = {}
        recording = trace.recording
        texts = recording[Strings].text.tolist()
        self._kind = np.full(len(texts) + 1, -1, np.int8)
        for kind, prefix in PREFIXES.items():
            self._kind[[at for at, text in enumerate(texts) if text.startswith(prefix)]] = kind
        self._os_threads = recording.os_threads()
        self._threads: dict[int, _Thread] = {}
        self._own = _Own(trace)
        forward = trace.timed_phases
        self._forward = forward.take(forward.phase == Phase.FORWARD)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        rows = np.flatnonzero(batch.scope == USER_SCOPE)
        rows = rows[self._kind[batch.name[rows]] >= 0]
        rows = rows[is_possible(batch.start_ns[rows], batch.end_ns[rows])]
        kinds, threads = self._kind[batch.name[rows]], self._os_threads[batch.thread[rows]]
        for thread, places in each_thread(threads):
            self.rows.setdefault(thread, int(batch.thread[rows[places[0]]]))
            parts = self._threads.setdefault(thread, _Thread()).parts
            for kind in set(kinds[places].tolist()):
                own = rows[places[kinds[places] == kind]]
                spans = Spans(batch.start_ns[own], batch.end_ns[own], batch.stack[own])
                parts.setdefault(kind, []).append(spans)

    def of(self, thread: int, kind: int) -> Spans:
        """The ranges of one kind on a thread, ordered, without nested ones. kind: such as `NEXT`."""
        if kind == PROGRAM:
            return self._own.steps(thread)
        found = self._threads.get(thread, _Thread()).parts.get(kind, [])
        return _outermost(Spans.concat(found))

    def forward(self, thread: int) -> Spans:
        """Returns forward on a thread without Python stacks, ordered."""
        rows = self._forward.take(self._forward.thread == thread)
        return Spans(rows.start_ns, rows.end_ns, np.full(len(rows), -1, np.int32))

    def marks(self, thread: int) -> Int64:
        """Returns when the program marked the ends of steps with `perfprobe.step()`, in ns."""
        return self._own.named(thread, STEP_MARK).end_ns

    def collections(self, thread: int) -> Spans:
        """Python's garbage collections on a thread."""
        return self._own.of(thread, RangeSource.PYTHON)


class _Own:
    """Perfprobe's own ranges by name, and those of the interpreter."""

    def __init__(self, trace: Trace) -> None:
        rows = trace.recording[Ranges]
        self._rows = rows.take(is_possible(rows.start_ns, rows.end_ns))
        self._of_thread = dict(each_thread(trace.recording.os_threads()[self._rows.thread]))
        strings = trace.recording[Strings]
        self._is_named = {name: strings.marks(name.__eq__) for name in (STEP_NAME, STEP_MARK)}

    def steps(self, thread: int) -> Spans:
        return self.named(thread, STEP_NAME)

    def named(self, thread: int, name: str) -> Spans:
        """Perfprobe's ranges of one name on a thread."""
        return self.of(thread, RangeSource.PERFPROBE, self._is_named[name])

    def of(self, thread: int, source: RangeSource, names: Mask | None = None) -> Spans:
        """Ranges of one source with these names on a thread."""
        rows = self._rows.take(self._of_thread.get(thread, np.empty(0, np.intp)))
        chosen = rows.source == source
        rows = rows.take(chosen if names is None else chosen & names[rows.name])
        return _outermost(Spans(rows.start_ns, rows.end_ns, np.full(len(rows), -1, np.int32)))


def _outermost(rows: Spans) -> Spans:
    if len(rows) == 0:
        return rows
    rows = rows.take(np.lexsort((-rows.end_ns, rows.start_ns)))
    within = rows.end_ns[1:] <= np.maximum.accumulate(rows.end_ns)[:-1]
    return rows.take(np.append(True, ~within))
