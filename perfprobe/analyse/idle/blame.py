"""Finds the cause of each gap in a device's work: what the host did during the gap.

A gap has two parts. The first lasts until the call that launched the next work began. Its cause is what the
thread of that call did, by calls, operators, ranges and samples. If nothing is known of that thread, it is
what the thread did that had launched the previous work, such as autograd's. The second part is the launch
itself, or the device if the work was queued already.

If the gap began while the host waited for the GPU, that wait kept the host from queuing work. Without the
wait, every later launch could come earlier by at most its length. So the beginning of the gap, up to that
length, is blamed on the wait, except parts with another clear cause (data, compiling, garbage collection,
allocator).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import first_of_each, sort_by_keys
from perfprobe.analyse.idle.gaps import Gaps, Work, each_device, edges, gaps, work_of
from perfprobe.analyse.idle.layers import (
    HostSpans,
    ThreadLayers,
    call_causes,
    of_calls,
    of_operators,
    of_ranges,
    of_samples,
)
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.ranges import NamedSpans
from perfprobe.analyse.loop.regions import Regions, regions
from perfprobe.analyse.loop.unrecorded import outside_windows
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, among, column, distinct
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import ApiCalls, GpuLinks
from perfprobe.tables.idle import IdleCause, IdleKind
from perfprobe.tables.intervals import around
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import NoLine, Trace

_LATE_NS = 1_000_000  # from the end of a launch to its work; without other work it takes some microseconds
_WEAK = (IdleCause.UNKNOWN, IdleCause.OPERATORS, IdleCause.PYTHON, IdleCause.LAUNCH)
_COLUMNS = ("start_ns", "end_ns", "frame", "forward_frame", "phase", "no_line", "name", "scope")
_PLACE = ("call", "operator", "frame", "forward_frame", "phase", "no_line")


class Blamed(HostSpans):
    """Parts of gaps by device and start, each with its cause and place."""

    device: Int32 = column("the driver's number of the device")
    gap_number: Int64 = column("which gap, counted over all devices")
    kind: Int8 = column("an `IdleKind`")
    linked: Int8 = column("1: the call that ended the gap was recorded")


class BlamedIdle:
    """The pass: collects the operators of a trace that run in gaps, batch by batch."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._trace = trace
        self._spans = NamedSpans(trace)
        self._os_threads = trace.recording.os_threads()
        self._kept: list[tuple[int, LinkedOperators]] = []
        self._host: _Host | None = None
        self._pieces: Blamed | None = None
        links = trace.gpu
        self.work = None if links is None else work_of(trace.recording, links)
        self.outside = outside_windows(trace.recording)
        self._found: list[tuple[int, Gaps]] = []
        self._edges: list[tuple[int, Gaps]] = []
        if self.work is not None:
            devices = each_device(self.work)
            self._found = [(device, gaps(self.work, own, self.outside)) for device, own in devices]
            steps = times.steps.take(times.leading())
            self._edges = [(device, edges(self.work, own, steps, self.outside)) for device, own in devices]
        spans = [(each.start_ns, each.end_ns) for _, each in (*self._found, *self._edges)]
        starts_ns, ends_ns = zip(*(spans or [(np.empty(0, np.int64),) * 2]), strict=True)
        self._idle = Covered(np.concatenate(starts_ns), np.concatenate(ends_ns))

    def add(self, batch: LinkedOperators) -> None:
        """Adds the next batch, as yielded by `Trace.operators`."""
        if not self._found:
            return
        self._spans.add(batch)
        chosen = batch.scope != USER_SCOPE
        chosen &= self._idle.within(batch.start_ns, np.maximum(batch.end_ns, batch.start_ns)) > 0
        rows = np.flatnonzero(chosen)
        if len(rows) == 0:
            return
        thread = self._os_threads[batch.thread[rows]]
        first = first_of_each(thread)
        for own in np.split(rows, first[1:]):
            # Nested operators are dropped at the end, because their outer ones may come in a later batch.
            columns = {name: getattr(batch, name)[own] for name in _COLUMNS}
            self._kept.append((int(self._os_threads[batch.thread[own[0]]]), LinkedOperators.part(columns)))

    def result(self) -> BlamedIdle | None:
        """Returns itself; None if no GPU was recorded."""
        return None if self.work is None else self

    def pieces(self) -> Blamed:
        """All parts of all gaps between work."""
        if self._pieces is None:
            self._pieces = self._parts(self._found)
        return self._pieces

    def edges(self) -> Blamed:
        """The parts of the time in steps before the first work, and after the last."""
        return self._parts(self._edges)

    def _parts(self, gaps: list[tuple[int, Gaps]]) -> Blamed:
        if self._trace.gpu is None or self.work is None:
            return Blamed.empty()
        if self._host is None:
            self._host = _Host(self._trace, self._trace.gpu, self._spans, self._kept, self._idle)
        found, number = [], 0
        for device, each in gaps:
            found.append(_device(self.work, each, self._host, device, number))
            number += len(each.start_ns)
        return Blamed.concat(found)


class _Host:
    """The layers of threads, made on first use."""

    def __init__(
        self,
        trace: Trace,
        links: GpuLinks,
        spans: NamedSpans,
        kept: list[tuple[int, LinkedOperators]],
        idle: Covered,
    ) -> None:
        self.links, self._trace, self._spans, self._kept = links, trace, spans, kept
        calls = trace.recording[ApiCalls]
        self._is_idle = idle.within(calls.start_ns, np.maximum(calls.end_ns, calls.start_ns)) > 0
        self.thread = np.append(trace.recording.os_threads()[calls.thread], np.int64(-1))
        self.causes, self.waited_ns = call_causes(trace.recording, links)
        self.calls = calls
        self._regions: Regions | None = None
        self._layers: dict[int, ThreadLayers] = {}

    def layers(self, thread: int) -> ThreadLayers:
        """Returns the layers of a thread; empty ones for an unknown thread."""
        if thread not in self._layers:
            self._regions = self._regions or regions(self._trace)
            rows = [rows for key, rows in self._kept if key == thread and thread != -1]
            operators = of_operators(LinkedOperators.concat(rows)) if rows else HostSpans.empty()
            calls = np.flatnonzero((self.thread[:-1] == thread) & self._is_idle & (thread != -1))
            called = of_calls(self._trace, self.links, calls, self.causes)
            named = of_ranges(self._trace, self._spans, thread)
            samples = of_samples(self._trace, self._regions, thread)
            self._layers[thread] = ThreadLayers([*named, called, operators], samples, operators)
        return self._layers[thread]

    def wait_around(self, thread: int, time_ns: Int64) -> tuple[Rows, Mask]:
        """Returns the call of a thread that waited for a GPU at each moment, and whether there is one."""
        rows = np.flatnonzero((self.thread[:-1] == thread) & (self.waited_ns > 0))
        if len(rows) == 0 or thread == -1:
            return np.zeros(len(time_ns), np.intp), np.zeros(len(time_ns), np.bool_)
        rows = rows[np.argsort(self.calls.start_ns[rows], kind="stable")]
        at = around(self.calls.start_ns[rows], self.calls.end_ns[rows], time_ns)
        return rows[at], np.asarray(at >= 0)


def _device(work: Work, found: Gaps, host: _Host, device: int, number: int) -> Blamed:
    """Returns the parts of the gaps of one device. number: of its first gap."""
    calls = np.append(work.call, np.int32(-1))
    call, before = calls[found.after], calls[found.before]
    launched_ns = np.where(call >= 0, np.append(work.launch_ns, np.int64(-1))[found.after], found.end_ns)
    split_ns = np.clip(launched_ns, found.start_ns, found.end_ns)
    parts = [_launching(found, call, split_ns, host)]
    threads, others = host.thread[call], host.thread[before]
    for own in _equal(threads, others):
        parts.append(_hosting(found, own, call, split_ns, host, (int(threads[own[0]]), int(others[own[0]]))))
    rows, at = HostSpans.concat([rows for rows, _ in parts]), np.concatenate([at for _, at in parts])
    linked = (call >= 0)[at].astype(np.int8)
    return Blamed(
        **rows.columns(),
        device=np.full(len(rows), device, np.int32),
        gap_number=at.astype(np.int64) + number,
        kind=found.kind[at],
        linked=linked,
    )


def _equal(*keys: Int64) -> list[Rows]:
    """Groups rows with equal keys; keeps their order."""
    if len(keys[0]) == 0:
        return []
    order, first = sort_by_keys(list(keys))
    return np.split(order, first[1:])


def _launching(found: Gaps, call: Int32, split_ns: Int64, host: _Host) -> tuple[HostSpans, Rows]:
    """Returns the second parts of gaps, from the launch on, for gaps that have one."""
    at = np.flatnonzero(split_ns < found.end_ns)
    cause = np.append(host.causes, np.int8(IdleCause.UNKNOWN))[call[at]]
    queued = (split_ns[at] == found.start_ns[at]) | _is_late(found, call, at, host)
    by_kind = np.where(found.kind[at] == IdleKind.KERNEL_WAIT, IdleCause.BETWEEN_KERNELS, IdleCause.UNKNOWN)
    cause = np.where(queued & (cause == IdleCause.LAUNCH), by_kind, cause).astype(np.int8)
    places = _places(host, call[at])
    for name in ("call", "operator"):  # time of the device, whatever was launched
        places[name] = np.where(cause == IdleCause.BETWEEN_KERNELS, np.int32(-1), places[name])
    return HostSpans(start_ns=split_ns[at], end_ns=found.end_ns[at], cause=cause, **places), at


def _is_late(found: Gaps, call: Int32, at: Rows, host: _Host) -> Mask:
    """Which work began long after its call, which had ended: other work kept it, which was not recorded."""
    ended_ns = np.append(host.calls.end_ns, np.iinfo(np.int64).max - _LATE_NS)[call[at]]
    return np.asarray(found.end_ns[at] > ended_ns + _LATE_NS)


def _hosting(
    found: Gaps, own: Rows, call: Int32, split_ns: Int64, host: _Host, threads: tuple[int, int]
) -> tuple[HostSpans, Rows]:
    """Returns the parts of these gaps before the launch, cut where the host began or ended something."""
    own = own[split_ns[own] > found.start_ns[own]]
    thread, other = threads
    waiting, is_begun = host.wait_around(thread, found.start_ns[own])
    if other != thread:
        second, is_second = host.wait_around(other, found.start_ns[own])
        waiting, is_begun = np.where(is_begun, waiting, second), is_begun | is_second
    waited_ns = np.append(host.waited_ns, np.int64(0))[waiting]
    until_ns = np.where(is_begun, np.minimum(found.start_ns[own] + waited_ns, split_ns[own]), np.int64(-1))
    layers = list(_ordered(host, thread, other))
    start_ns, end_ns, at = _cut(found.start_ns[own], split_ns[own], [*_bounds(layers), until_ns])
    rows = _at_moments(layers, start_ns, end_ns)
    rows = _placed(rows, host, thread, call[own][at])
    is_weak = among(rows.cause, _WEAK) & (end_ns <= until_ns[at])
    places = _places(host, waiting[at].astype(np.int32)) | {"cause": np.append(host.causes, 0)[waiting[at]]}
    changed = {name: np.where(is_weak, value, getattr(rows, name)) for name, value in places.items()}
    dtypes = HostSpans.dtypes
    kept = {name: value.astype(dtypes[name]) for name, value in changed.items()}
    return HostSpans(**rows.columns() | kept), own[at]


def _ordered(host: _Host, thread: int, other: int) -> Iterator[HostSpans]:
    """Yields the layers of a thread and of the one before, and then the samples of both."""
    yield from host.layers(thread).known
    if other != thread:
        yield from host.layers(other).known
    yield host.layers(thread).samples
    if other != thread:
        yield host.layers(other).samples


def _bounds(layers: list[HostSpans]) -> list[Int64]:
    return [time_ns for rows in layers for time_ns in (rows.start_ns, rows.end_ns)]


def _cut(start_ns: Int64, end_ns: Int64, bounds: list[Int64]) -> tuple[Int64, Int64, Rows]:
    """Cuts intervals that do not overlap at all bounds; returns the parts, and the interval of each."""
    time_ns = distinct(np.concatenate([start_ns, end_ns, *bounds]))
    at = around(start_ns, end_ns, time_ns[:-1])
    inside = at >= 0
    return time_ns[:-1][inside], time_ns[1:][inside], at[inside]


def _at_moments(layers: list[HostSpans], start_ns: Int64, end_ns: Int64) -> HostSpans:
    """Returns for each moment the row of the first layer that has one; otherwise an unknown cause."""
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.full(len(start_ns), -1, dtype) for name, dtype in HostSpans.dtypes.items()
    }
    columns |= {"cause": np.full(len(start_ns), IdleCause.UNKNOWN, np.int8)}
    columns |= {"phase": np.zeros(len(start_ns), np.int8)}
    columns |= {"no_line": np.full(len(start_ns), NoLine.NONE, np.int8)}
    open_ = np.ones(len(start_ns), np.bool_)
    for rows in layers:
        if len(rows) == 0:
            continue
        at = around(rows.start_ns, rows.end_ns, start_ns)
        shows = open_ & (at >= 0)
        for name in ("cause", *_PLACE):
            columns[name][shows] = getattr(rows, name)[at[shows]]
        open_ &= ~shows
    return HostSpans(**columns | {"start_ns": start_ns, "end_ns": end_ns})


def _placed(rows: HostSpans, host: _Host, thread: int, call: Int32) -> HostSpans:
    """Fills rows without a cause: Python code before the next operator or the launch, if the thread is known.

    call: the launch that ended the gap of each row.
    """
    blank = np.flatnonzero((rows.cause == IdleCause.UNKNOWN) & (call >= 0))
    if thread == -1 or len(blank) == 0:
        return rows
    columns = {name: values.copy() for name, values in rows.columns().items()}
    places = _places(host, call[blank])
    operators = host.layers(thread).operators
    launched_ns = host.calls.start_ns[call[blank]]
    at = np.searchsorted(operators.start_ns, rows.end_ns[blank])
    is_next = np.append(operators.start_ns, np.int64(-1))[at] <= launched_ns
    is_next &= at < len(operators)
    for name in ("frame", "forward_frame", "phase", "no_line"):
        value = np.append(getattr(operators, name), getattr(operators, name).dtype.type(-1))[at]
        columns[name][blank] = np.where(is_next, value, places[name])
    columns["cause"][blank] = IdleCause.PYTHON
    return HostSpans(**columns)


def _places(host: _Host, call: Int32) -> dict[str, npt.NDArray[Any]]:
    """Returns where calls were made; -1 for unknown calls."""
    sites, unknown = host.links.sites, np.int8(NoLine.CALL_NOT_RECORDED)
    return {
        "call": np.append(host.calls.name, np.int32(-1))[call],
        "operator": np.append(sites.name, np.int32(-1))[call],
        "frame": np.append(sites.frame, np.int32(-1))[call],
        "forward_frame": np.append(sites.forward_frame, np.int32(-1))[call],
        "phase": np.append(sites.phase, np.int8(0))[call],
        "no_line": np.append(sites.no_line, unknown)[call],
    }
