"""The events of the critical path in one table: operators, calls of CUDA's API, kernels and copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.analyse.critical.chains import Events
from perfprobe.analyse.idle.gaps import COMMUNICATION, COMPUTE, Work, work_of
from perfprobe.analyse.loop.timeline import is_possible
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.critical import Bound
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import ApiCalls, Copies, GpuLinks, Kernels
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NoLine, Phase, Trace

# As in HolisticTraceAnalysis (`BLOCKING_SYNC_CALLS`), without the prefix: AMD's API has the same names.
_BLOCKING = (
    *("DeviceSynchronize", "StreamSynchronize", "EventQuery", "EventSynchronize", "Memcpy", "MemcpyAsync"),
    *("CtxSynchronize", "MemcpyWithStream"),
)
_BOUNDS = {COMPUTE: Bound.COMPUTE, COMMUNICATION: Bound.COMMUNICATION}


@frozen
class AllEvents:
    """The events, and where calls and work are among them.

    events: operators, then calls, then work. call: the event of each row of `ApiCalls`, -1 for one left out.
    work: the event of each row of `pieces`. pieces: the work of GPUs, None without a GPU.
    """

    events: Events
    call: Rows
    work: Rows
    pieces: Work | None


def all_events(trace: Trace, operators: list[LinkedOperators], first_ns: int, last_ns: int) -> AllEvents:
    """The events that began in [first_ns, last_ns). Work counts by its launch. Empty events are left out."""
    os_threads = trace.recording.os_threads()
    parts = [of_operators(rows, os_threads[rows.thread]) for rows in operators]
    host = Events.concat(parts)
    host = host.take(_within(host.start_ns, host.end_ns, first_ns, last_ns))
    if trace.gpu is None:
        return AllEvents(host, np.empty(0, np.intp), np.empty(0, np.intp), None)
    calls = _of_calls(trace.recording, trace.gpu, os_threads)
    kept = _within(calls.start_ns, calls.end_ns, first_ns, last_ns)
    call = np.where(kept, len(host) + np.cumsum(kept) - 1, -1)
    pieces = work_of(trace.recording, trace.gpu)
    begun_ns = np.where(pieces.call >= 0, pieces.launch_ns, pieces.start_ns)
    pieces = pieces.take((begun_ns >= first_ns) & (begun_ns < last_ns))
    ran = _of_work(trace.recording, trace.gpu, pieces)
    events = Events.concat([host, calls.take(kept), ran])
    work = np.arange(len(events) - len(ran), len(events))
    return AllEvents(events, call, work, pieces)


def of_operators(rows: LinkedOperators, thread: Int64) -> Events:
    """Operators as events. thread: the system's number of each row's thread."""
    same = {
        name: getattr(rows, name)
        for name in ("start_ns", "end_ns", "frame", "forward_frame", "phase", "no_line")
    }
    bound = np.where(rows.phase == Phase.DATA, np.int8(Bound.DATA), np.int8(Bound.CPU))
    none = np.full(len(rows), -1, np.int32)
    blocking = np.zeros(len(rows), np.int8)
    return Events(**same, thread=thread, bound=bound, name=none, operator=rows.name, is_blocking=blocking)


def _of_calls(recording: Recording, links: GpuLinks, os_threads: Int64) -> Events:
    calls, sites = recording[ApiCalls], links.sites
    is_blocking = recording[Strings].marks(_is_blocking)[calls.name]
    return Events(
        start_ns=calls.start_ns,
        end_ns=calls.end_ns,
        thread=os_threads[calls.thread],
        bound=np.full(len(calls), Bound.CPU, np.int8),
        name=calls.name,
        operator=sites.name,
        **{name: getattr(sites, name) for name in ("frame", "forward_frame", "phase", "no_line")},
        is_blocking=is_blocking.astype(np.int8),
    )


def _of_work(recording: Recording, links: GpuLinks, pieces: Work) -> Events:
    names = np.append(recording[Kernels].name, np.full(len(recording[Copies]), -1, np.int32))
    sites, count = links.sites, len(pieces.row)
    bound = np.full(count, Bound.COPY, np.int8)
    for kind, own in _BOUNDS.items():
        bound[pieces.kind == kind] = own
    absent: dict[str, Any] = {"operator": -1, "frame": -1, "forward_frame": -1, "phase": 0}
    places: dict[str, Any] = {
        name: np.append(column, column.dtype.type(absent.get(name, NoLine.CALL_NOT_RECORDED)))[pieces.call]
        for name in ("operator", "frame", "forward_frame", "phase", "no_line")
        for column in (getattr(sites, "name" if name == "operator" else name),)
    }
    return Events(
        start_ns=pieces.start_ns,
        end_ns=pieces.end_ns,
        thread=np.full(count, -1, np.int64),
        bound=bound,
        name=names[pieces.row],
        **places,
        is_blocking=np.zeros(count, np.int8),
    )


def _is_blocking(name: str) -> bool:
    return name.removeprefix("cuda").removeprefix("hip").removeprefix("cu") in _BLOCKING


def _within(start_ns: Int64, end_ns: Int64, first_ns: int, last_ns: int) -> Mask:
    possible = is_possible(start_ns, end_ns) & (end_ns > start_ns)
    return np.asarray(possible & (start_ns >= first_ns) & (start_ns < last_ns))
