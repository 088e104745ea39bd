"""Finds the gaps in the work of devices and streams.

The kinds of gaps are those of HolisticTraceAnalysis, `BreakdownAnalysis._analyze_idle_time_for_stream`.
There, a gap of a stream begins at the end of the kernel that started before. Here it begins at the latest
end so far, so that overlapping kernels of one stream give no negative gap.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from perfprobe.analyse.devices import communicating, duration_ns
from perfprobe.analyse.grouping import first_of_each
from perfprobe.analyse.loop.covered import Covered
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows
from perfprobe.tables.gpu import ApiCalls, Copies, GpuLinks, Kernels
from perfprobe.tables.idle import SHORT_GAP_NS, IdleKind, StreamIdle
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import Steps

COMPUTE, COMMUNICATION, COPY = range(3)


class Work(NamedTuple):
    """Kernels, copies and fills that have times.

    Attributes:
        call: the row of `ApiCalls`, -1 none; launch_ns: its start, -1 if there is none.
        kind: COMPUTE, COMMUNICATION or COPY.
        row: the row in `Kernels`; rows of `Copies` are counted after these.
    """

    start_ns: Int64
    end_ns: Int64
    device: Int32
    stream: Int32
    call: Int32
    launch_ns: Int64
    kind: Int8
    row: Rows

    def take(self, rows: Rows | Mask) -> Work:
        """Returns these rows; without a copy if they are all of them, which millions of kernels may be."""
        whole = len(rows) == len(self.start_ns)
        if whole and bool(rows.all() if rows.dtype == np.bool_ else (rows == np.arange(len(rows))).all()):
            return self
        columns: list[Any] = [column[rows] for column in self]
        return Work(*columns)


class Gaps(NamedTuple):
    """Intervals without work. before, after: rows of `Work` on either side, -1 none. kind: an `IdleKind`."""

    start_ns: Int64
    end_ns: Int64
    before: Rows
    after: Rows
    kind: Int8


def work_of(recording: Recording, links: GpuLinks) -> Work:
    """Returns all work that has times, sorted by device, stream and start."""
    kernels, copies, calls = recording[Kernels], recording[Copies], recording[ApiCalls]
    call = np.concatenate([links.kernel_call, links.copy_call])
    found = Work(
        start_ns=np.concatenate([kernels.start_ns, copies.start_ns]),
        end_ns=np.concatenate([kernels.end_ns, copies.end_ns]),
        device=np.concatenate([kernels.device, copies.device]),
        stream=np.concatenate([kernels.stream, copies.stream]),
        call=call,
        launch_ns=np.append(calls.start_ns, np.int64(-1))[call],
        kind=np.concatenate(
            [np.where(communicating(recording), COMMUNICATION, COMPUTE), np.full(len(copies), COPY)]
        ).astype(np.int8),
        row=np.arange(len(call)),
    )
    timed = np.flatnonzero(np.concatenate([duration_ns(kernels), duration_ns(copies)]) >= 0)
    keys = (found.start_ns, found.stream, found.device)
    return found.take(timed[np.lexsort([key[timed] for key in keys])])


def each_device(work: Work) -> list[tuple[int, Rows]]:
    """Returns the rows of each device, sorted by start."""
    if len(work.start_ns) == 0:
        return []
    first = first_of_each(work.device)
    parts = np.split(np.arange(len(work.device)), first[1:])
    return [(int(work.device[own[0]]), own[np.argsort(work.start_ns[own], kind="stable")]) for own in parts]


def gaps(work: Work, own: Rows, outside: Covered) -> Gaps:
    """Returns the gaps between these rows, which must be sorted by start.

    outside: when GPUs were not recorded. What was idle then is not known.
    """
    start_ns, end_ns = work.start_ns[own], work.end_ns[own]
    until_ns = np.maximum.accumulate(end_ns)
    last = np.maximum.accumulate(np.where(end_ns == until_ns, np.arange(len(own)), 0))
    after = np.flatnonzero(start_ns[1:] > until_ns[:-1]) + 1
    after = after[outside.within(until_ns[after - 1], start_ns[after]) == 0]
    begin_ns, end_ns = until_ns[after - 1], start_ns[after]
    is_host = work.launch_ns[own[after]] > begin_ns
    short = np.where(end_ns - begin_ns < SHORT_GAP_NS, np.int8(IdleKind.KERNEL_WAIT), np.int8(IdleKind.OTHER))
    kind = np.where(is_host, np.int8(IdleKind.HOST_WAIT), short)
    return Gaps(begin_ns, end_ns, own[last[after - 1]], own[after], kind)


def edges(work: Work, own: Rows, steps: Steps, outside: Covered) -> Gaps:
    """The time in steps before the first of these rows, and after the last.

    own: sorted by start. Stretches in which GPUs were not recorded are left out.
    """
    if len(steps) == 0:
        return Gaps(*(np.empty(0, np.int64),) * 4, np.empty(0, np.int8))
    last = own[work.end_ns[own].argmax()]
    start_ns = np.array([steps.start_ns.min(), work.end_ns[last]])
    end_ns = np.array([work.start_ns[own[0]], steps.end_ns.max()])
    kept = (end_ns > start_ns) & (outside.within(start_ns, np.maximum(end_ns, start_ns)) == 0)
    kind = np.array([IdleKind.HOST_WAIT, IdleKind.OTHER], np.int8)
    found = (start_ns, end_ns, np.array([-1, last]), np.array([own[0], -1]), kind)
    return Gaps(*(column[kept] for column in found))


def stream_idle(work: Work, outside: Covered) -> StreamIdle:
    """Returns a row for each stream of each device, most idle time first."""
    if len(work.start_ns) == 0:
        return StreamIdle.empty()
    first = first_of_each((work.device.astype(np.int64) << 32) + work.stream)
    sums = np.empty((len(first), 1 + len(IdleKind)), np.int64)  # a stream may have a single kernel
    for at, (begin, end) in enumerate(pairwise([*first.tolist(), len(work.stream)])):
        sums[at] = _sums(gaps(work, np.arange(begin, end), outside))
    found = StreamIdle(work.device[first], work.stream[first], *sums.T)
    idle_ns = found.host_wait_ns + found.kernel_wait_ns + found.other_ns
    return found.take(np.argsort(-idle_ns, kind="stable"))


def _sums(found: Gaps) -> list[int]:
    """The number of gaps, and the time of each kind."""
    took_ns = found.end_ns - found.start_ns
    return [len(took_ns), *(int(took_ns[found.kind == kind].sum()) for kind in IdleKind)]
