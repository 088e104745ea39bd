"""Distinguishes the communication of DDP and FSDP from the program's own."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.devices import communicating
from perfprobe.analyse.loop.timeline import is_possible
from perfprobe.tables.columns import Int8, Int32, Int64, Mask
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import ApiCalls, Kernels
from perfprobe.tables.intervals import around
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Trace
from perfprobe.tables.wrappers import Wrapper, WrapperSpans

# Ranges that FSDP 2 and FSDP 1 set around their own work. That of forward contains the model: it is not used.
_FSDP = ("FSDP::", "FullyShardedDataParallel._")
_DDP_FORWARD = "DistributedDataParallel.forward"
_BROADCAST = "broadcast"


class WrapperWatch:
    """Takes the operators of a trace batch by batch; keeps ranges and operators of DDP and FSDP."""

    def __init__(self, trace: Trace) -> None:
        strings = trace.recording[Strings]
        self._fsdp = strings.marks(lambda text: text.startswith(_FSDP))
        self._forward = strings.marks(lambda text: text == _DDP_FORWARD)
        self._parts: list[WrapperSpans] = []

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        is_range = batch.scope == USER_SCOPE
        fsdp, forward = is_range & self._fsdp[batch.name], is_range & self._forward[batch.name]
        found = fsdp | forward | (batch.no_line == NoLine.GRADIENT_REDUCTION)
        rows = np.flatnonzero(found & is_possible(batch.start_ns, batch.end_ns))
        if len(rows) == 0:
            return
        wrapper = np.where(fsdp[rows], Wrapper.FSDP, Wrapper.DDP).astype(np.int8)
        spans = WrapperSpans(
            wrapper=wrapper,
            is_forward=forward[rows].astype(np.int8),
            thread=batch.thread[rows],
            start_ns=batch.start_ns[rows],
            end_ns=batch.end_ns[rows],
        )
        self._parts.append(spans)

    def result(self) -> WrapperSpans:
        """The spans without nested ones, ordered by wrapper, kind, thread and time."""
        spans = WrapperSpans.concat(self._parts)
        order = np.lexsort((-spans.end_ns, spans.start_ns, spans.thread, spans.is_forward, spans.wrapper))
        spans = spans.take(order)
        return spans.take(~_within_another(spans))


def _within_another(spans: WrapperSpans) -> Mask:
    """Returns which spans are inside an earlier one of the same thread and kind."""
    found = np.zeros(len(spans), np.bool_)
    for chosen in _kinds(spans):
        ends_ns = np.maximum.accumulate(spans.end_ns[chosen])
        found[chosen[1:]] = spans.end_ns[chosen[1:]] <= ends_ns[:-1]
    return found


def _kinds(spans: WrapperSpans) -> list[Int64]:
    """The rows of each wrapper, kind and thread. The spans must be sorted by these."""
    keys = np.stack([spans.wrapper, spans.is_forward, spans.thread]).astype(np.int64)
    if len(spans) == 0:
        return []
    first = np.flatnonzero((np.diff(keys, axis=1) != 0).any(axis=0)) + 1
    return np.split(np.arange(len(spans)), first)


def wrappers(trace: Trace, spans: WrapperSpans, call: Int32) -> Int8:
    """A `Wrapper` for each kernel. One that communicates belongs to the wrapper whose code launched it.

    Args:
        call: for each kernel the row of `api_calls` that launched it, -1 for none.
    """
    recording, kernels = trace.recording, trace.recording[Kernels]
    found = np.zeros(len(kernels), np.int8)
    if len(spans) == 0:
        return found
    sends = recording[Strings].marks(lambda text: _BROADCAST in text.lower())[kernels.name]
    rows = np.flatnonzero(communicating(recording) & (call >= 0))
    os_threads, calls = recording.os_threads(), recording[ApiCalls].take(call[rows])
    for chosen in _kinds(spans):
        own = spans.take(chosen)
        inside = around(own.start_ns, own.end_ns, calls.start_ns) >= 0
        inside &= os_threads[calls.thread] == os_threads[own.thread[0]]
        if own.is_forward[0]:
            inside &= sends[rows]
        found[rows[inside]] = np.maximum(found[rows[inside]], own.wrapper[0])
    return found
