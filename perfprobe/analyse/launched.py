"""Sums launches: how long the calls took, how long after them the work began, and how much was queued.

The definitions are those of HolisticTraceAnalysis: `CudaKernelAnalysis.cuda_kernel_launch_stats`, and for
the queue `TraceCounters._get_queue_length_time_series_for_rank`. The queue grows by one when a call begins
and shrinks by one when its work begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import first_of_each, sort_by_keys
from perfprobe.analyse.idle.gaps import Work, work_of
from perfprobe.models.intervals import percentile
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.gpu import ApiCalls
from perfprobe.tables.launch_times import (
    FEWEST_BOUND,
    FULL_QUEUE,
    LONG_CALL_NS,
    LONG_DELAY_NS,
    LaunchedRows,
    LaunchTimes,
    QueueLengths,
    StreamLaunches,
)
from perfprobe.tables.trace import Trace

PARTS = 100  # into how many intervals a stream's time is divided to show its queue
MOST_STREAMS = 64  # at most this many streams have their queue shown over time
_KEYS = ("operator", "frame", "forward_frame", "phase", "no_line")


class _Launches:
    """One row for each call whose work has times: the work that began first."""

    def __init__(self, trace: Trace) -> None:
        links = trace.gpu
        assert links is not None
        work, calls = work_of(trace.recording, links), trace.recording[ApiCalls]
        took = np.append(calls.end_ns - calls.start_ns, np.int64(-1))
        own = np.flatnonzero((work.call >= 0) & (took[work.call] >= 0) & (work.launch_ns >= 0))
        order = own[np.lexsort((work.start_ns[own], work.call[own]))]
        first = first_of_each(work.call[order]) if len(order) else np.empty(0, np.intp)
        run_ns = (work.end_ns - work.start_ns)[order]
        self.gpu_ns = np.add.reduceat(run_ns, first) if len(first) else run_ns
        self.work: Work = work.take(order[first])
        self.call_ns = took[self.work.call]
        self.delay_ns = np.maximum(self.work.start_ns - self.work.launch_ns - self.call_ns, 0)
        self.is_short = (self.gpu_ns < self.call_ns) & (self.call_ns <= LONG_CALL_NS)


def launch_times(trace: Trace) -> LaunchTimes | None:
    """Returns the sums of launches; None if no GPU was recorded."""
    if trace.gpu is None:
        return None
    launches = _Launches(trace)
    if len(launches.call_ns) == 0:
        return LaunchTimes(LaunchedRows.empty(), StreamLaunches.empty(), QueueLengths.empty())
    streams: list[StreamLaunches] = []
    queues: list[QueueLengths] = []
    order, first = sort_by_keys([launches.work.device, launches.work.stream])
    for own in np.split(order, first[1:]):
        streams.append(_stream(launches, own))
        queues.append(_over_time(launches.work, own) if len(queues) < MOST_STREAMS else QueueLengths.empty())
    found = StreamLaunches.concat(streams)
    found = found.take(np.argsort(-found.launches, kind="stable"))
    return LaunchTimes(_rows(trace, launches), found, QueueLengths.concat(queues))


def queue_lengths(work: Work, own: Rows) -> tuple[Int64, Int64]:
    """Returns the times at which the queue of these launches changes, and its length from then on."""
    time_ns = np.concatenate([work.launch_ns[own], np.maximum(work.start_ns[own], work.launch_ns[own])])
    change = np.concatenate([np.ones(len(own), np.int64), np.full(len(own), -1)])
    order = np.lexsort((-change, time_ns))
    return time_ns[order], np.cumsum(change[order])


def _rows(trace: Trace, launches: _Launches) -> LaunchedRows:
    assert trace.gpu is not None
    sites, call = trace.gpu.sites, launches.work.call
    keys = {name: getattr(sites, "name" if name == "operator" else name)[call] for name in _KEYS}
    order, first = sort_by_keys([keys[name] for name in _KEYS])

    def total(values: npt.NDArray[Any]) -> Int64:
        return np.add.reduceat(values[order].astype(np.int64), first)

    found = LaunchedRows(
        **{name: column[order[first]] for name, column in keys.items()},
        linked=np.ones(len(first), np.int8),
        launches=np.diff(np.append(first, len(order))).astype(np.int64),
        short=total(launches.is_short),
        total_ns=total(launches.call_ns),
        gpu_ns=total(launches.gpu_ns),
        delay_ns=total(launches.delay_ns),
        longest_delay_ns=np.maximum.reduceat(launches.delay_ns[order], first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))


def _stream(launches: _Launches, own: Rows) -> StreamLaunches:
    time_ns, length = queue_lengths(launches.work, own)
    lasted_ns, call_ns, delay_ns = np.diff(time_ns), launches.call_ns[own], launches.delay_ns[own]
    values: dict[str, Any] = {
        "launches": len(own),
        "short": np.count_nonzero(launches.is_short[own]),
        "long_calls": np.count_nonzero(call_ns > LONG_CALL_NS),
        "delayed": np.count_nonzero(delay_ns > LONG_DELAY_NS),
        "call_ns": percentile(call_ns, 50),
        "delay_ns": percentile(delay_ns, 50),
        "p95_delay_ns": percentile(delay_ns, 95),
        "span_ns": time_ns[-1] - time_ns[0],
        "queued_ns": (length[:-1] * lasted_ns).sum(),
        "empty_ns": lasted_ns[length[:-1] == 0].sum(),
        "full_ns": lasted_ns[length[:-1] >= FULL_QUEUE].sum(),
        "most": length.max(),
        **_bound(launches.work, own),
    }
    where: dict[str, Any] = {name: getattr(launches.work, name)[own[:1]] for name in ("device", "stream")}
    figures: dict[str, Any] = {name: np.array([value], np.int64) for name, value in values.items()}
    return StreamLaunches(**where, **figures)


def _bound(work: Work, own: Rows) -> dict[str, int]:
    """Stretches in which the stream had ended all its work whenever the next was launched."""
    rows = own[np.argsort(work.start_ns[own], kind="stable")]
    ended_ns = np.maximum.accumulate(work.end_ns[rows])
    late = np.append(False, work.launch_ns[rows[1:]] > ended_ns[:-1])
    edges = np.diff(late.astype(np.int8), append=np.int8(0), prepend=np.int8(0))
    first, behind = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    first, behind = (each[behind - first >= FEWEST_BOUND] for each in (first, behind))
    took_ns = ended_ns[behind - 1] - ended_ns[first - 1]
    return {
        "stretches": len(first),
        "bound_ns": int(took_ns.sum()),
        "most_bound": int((behind - first).max(initial=0)),
    }


def _over_time(work: Work, own: Rows) -> QueueLengths:
    time_ns, length = queue_lengths(work, own)
    first_ns, span_ns = int(time_ns[0]), int(time_ns[-1]) - int(time_ns[0])
    bound_ns = np.array([first_ns + span_ns * at // PARTS for at in range(PARTS + 1)], np.int64)
    before_ns = np.append(np.int64(0), np.cumsum(length[:-1] * np.diff(time_ns)))
    at = np.searchsorted(time_ns, bound_ns, "right") - 1
    until_ns = before_ns[at] + length[at] * (bound_ns - time_ns[at])
    # The longest queue of a part: the length at its start, and after each change in it.
    merged_ns = np.concatenate([bound_ns[:-1], time_ns])
    merged = np.concatenate([length[at[:-1]], length])
    part = np.clip(np.searchsorted(bound_ns, merged_ns, "right") - 1, 0, PARTS - 1)
    most = np.zeros(PARTS, np.int64)
    np.maximum.at(most, part, merged)
    began = np.clip(np.searchsorted(bound_ns, work.launch_ns[own], "right") - 1, 0, PARTS - 1)
    where = {name: np.full(PARTS, getattr(work, name)[own[0]], np.int32) for name in ("device", "stream")}
    return QueueLengths(
        **where,
        start_ns=bound_ns[:-1],
        end_ns=bound_ns[1:],
        launches=np.bincount(began, minlength=PARTS).astype(np.int64),
        queued_ns=np.diff(until_ns),
        most=most,
    )
