"""When the loop's thread waits for something: a GPU, other ranks, Python's lock.

At every moment one reason counts: compiling, imports, garbage collection and waiting for data come before
these, as `StepPhase` has them; then ranks, the lock, and a GPU; then operators.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.idle.layers import HostSpans, call_causes, host_spans
from perfprobe.analyse.loop.covered import Covered, outside
from perfprobe.models.message import calls_collective, is_collective
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, among
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import ApiCalls
from perfprobe.tables.python import Samples
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

# Time that is not an operator's, although an operator may run in it.
APART = (StepPhase.DATA, StepPhase.COLLECTION, StepPhase.COMPILE, StepPhase.IMPORT)


class Collectives:
    """Operators that communicate, and when a collective ran on any thread, while operators are read."""

    def __init__(self, trace: Trace) -> None:
        strings = trace.recording[Strings]
        self._calls = strings.marks(calls_collective)
        self._collective = strings.marks(is_collective)
        self._spans: list[Int64] = []

    def add(self, rows: LinkedOperators) -> None:
        """Operators of any thread."""
        if not bool(self._collective.any()):
            return
        found = self._collective[rows.name] & (rows.scope == USER_SCOPE)
        if bool(found.any()):
            self._spans.append(np.stack([rows.start_ns[found], rows.end_ns[found]]))

    def called(self, name: Int32) -> Mask:
        """Returns which operators call a collective: their own time is waiting for other ranks."""
        return np.asarray(self._calls[name])

    def result(self) -> Covered:
        """When any collective ran."""
        start_ns, end_ns = np.concatenate([np.empty((2, 0), np.int64), *self._spans], axis=1)
        return Covered(start_ns, end_ns)


def gpu_waits(trace: Trace, thread: int, start_ns: Int64, end_ns: Int64) -> HostSpans:
    """When a thread waited for a GPU: in calls that synchronize, and in copies that block. Ordered.

    Args:
        thread: the system's number.
        start_ns, end_ns: garbage collections, which come first.
    """
    if trace.gpu is None:
        return HostSpans.empty()
    calls, sites = trace.recording[ApiCalls], trace.gpu.sites
    causes, waited_ns = call_causes(trace.recording, trace.gpu)
    own = trace.recording.os_threads()[calls.thread] == thread
    rows = np.flatnonzero(own & (waited_ns > 0) & (calls.start_ns >= 0))
    found = host_spans(
        causes[rows],
        calls.start_ns[rows],
        end_ns=calls.start_ns[rows] + waited_ns[rows],
        call=calls.name[rows],
        frame=sites.frame[rows],
        phase=sites.phase[rows],
    )
    row, begin_ns, finish_ns = outside(found.start_ns, found.end_ns, start_ns, end_ns)
    return HostSpans(**found.take(row).columns() | {"start_ns": begin_ns, "end_ns": finish_ns})


def waits_at_looks(samples: Samples, between: Mask, ran: Covered, waits: HostSpans) -> tuple[Int64, ...]:
    """How long the thread waited at each of its samples: for ranks, for Python's lock, for a GPU.

    A thread that does not run while a collective runs waits for other ranks. Waits inside of operators are
    measured there, but for the lock.

    Args:
        between: which samples are between operators.
        ran: when any collective ran.
        waits: those for a GPU between operators.
    """
    whole_ns = np.maximum(samples.end_ns - samples.start_ns, 1)
    still = np.where(samples.cpu_ns >= 0, np.maximum(1 - samples.cpu_ns / whole_ns, 0), 1)
    gpu_ns = Covered(waits.start_ns, waits.end_ns).within(samples.start_ns, samples.end_ns) * between
    ranks_ns = ran.within(samples.start_ns, samples.end_ns) * still * between
    in_lock = np.minimum(np.maximum(samples.lock_looks, 0) / np.maximum(samples.looks, 1), 1)
    lock_ns = np.minimum(in_lock * whole_ns, whole_ns - ranks_ns)
    gpu_ns = np.minimum(gpu_ns, whole_ns - ranks_ns - lock_ns)
    return tuple(np.maximum(each, 0).astype(np.int64) for each in (ranks_ns, lock_ns, gpu_ns))


def is_apart(phase: Int8) -> Mask:
    """Returns which phases come before waiting."""
    return among(phase, APART)
