"""Finds sequences of short kernels that could be one kernel: consecutive, from one line and one module.

HolisticTraceAnalysis lists sequences of kernels of any duration, under operators that the user names
(`CudaKernelAnalysis.get_frequent_cuda_kernel_sequences`).
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.idle.gaps import COMPUTE, Work, work_of
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.gpu import ApiCalls, GpuLinks, Kernels
from perfprobe.tables.intervals import numbered
from perfprobe.tables.launch_times import LONG_CALL_NS
from perfprobe.tables.sequences import FEWEST, MOST, SequenceKernels, SequenceRows, Sequences
from perfprobe.tables.trace import Trace

_KEYS = ("module", "frame", "forward_frame", "phase", "no_line")
# Large and odd, for multiplicative hashing (Knuth, volume 3, 6.4).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def sequences(trace: Trace) -> Sequences | None:
    """All sequences, most time first; None if no GPU was recorded."""
    links = trace.gpu
    if links is None:
        return None
    work, calls = work_of(trace.recording, links), trace.recording[ApiCalls]
    call_ns = np.append(calls.end_ns - calls.start_ns, np.int64(-1))[work.call]
    is_short = _is_short(trace, work, links, call_ns)
    first, length = _runs(work, links, is_short)
    if len(first) == 0:
        return Sequences(SequenceRows.empty(), SequenceKernels.empty())
    names = trace.recording[Kernels].name[np.where(is_short, work.row, 0)]
    operators = links.sites.name[work.call]
    rows, leaders = _rows(work, links, (first, length), names, call_ns)
    return Sequences(rows, _kernels(names, operators, first[leaders], length[leaders]))


def _is_short(trace: Trace, work: Work, links: GpuLinks, call_ns: Int64) -> Mask:
    """Returns which work is a short kernel: shorter than its launching call, and not of a CUDA graph."""
    kernels = trace.recording[Kernels]
    found = (work.kind == COMPUTE) & (work.row < len(kernels)) & (work.call >= 0)
    found &= (call_ns <= LONG_CALL_NS) & (work.end_ns - work.start_ns < call_ns)
    found &= ~np.append(links.graph_launch, False)[work.call]
    return np.asarray(found & (np.append(kernels.graph, -1)[np.minimum(work.row, len(kernels))] < 0))


def _runs(work: Work, links: GpuLinks, is_short: Mask) -> tuple[Rows, Rows]:
    """Returns where runs of short kernels of one stream, line and module begin, and how many kernels they
    have.
    """
    sites = links.sites
    same = is_short[1:] & is_short[:-1]
    for values in (work.device, work.stream):
        same &= values[1:] == values[:-1]
    for name in _KEYS:
        values = np.append(getattr(sites, name), getattr(sites, name).dtype.type(-1))[work.call]
        same &= values[1:] == values[:-1]
    if len(is_short) == 0:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    begins = np.append(True, ~same)
    place = np.arange(len(begins))
    within = place - np.maximum.accumulate(np.where(begins, place, 0))
    first = np.flatnonzero(begins | (within % MOST == 0))
    length = np.diff(np.append(first, len(begins)))
    kept = is_short[first] & (length >= FEWEST)
    return first[kept], length[kept]


def _rows(
    work: Work, links: GpuLinks, runs: tuple[Rows, Rows], names: Int32, call_ns: Int64
) -> tuple[SequenceRows, Rows]:
    """A row for each different sequence, most time first, and the first run of each."""
    first, length = runs
    last = first + length - 1
    keys = {name: getattr(links.sites, name)[work.call[first]] for name in _KEYS}
    hashes = _hashes(names, first, length)
    order, begin = sort_by_keys([*keys.values(), length, np.searchsorted(distinct(hashes), hashes)])
    leaders = order[begin]
    took_ns = work.end_ns[last] - work.start_ns[first]
    until = {"gpu_ns": np.cumsum(work.end_ns - work.start_ns), "call_ns": np.cumsum(call_ns)}
    sums = {name: sum_ns[last] - np.append(np.int64(0), sum_ns)[first] for name, sum_ns in until.items()}
    found = SequenceRows(
        **{name: column[leaders] for name, column in keys.items()},
        linked=np.ones(len(leaders), np.int8),
        first=np.zeros(len(leaders), np.int64),
        kernels=length[leaders].astype(np.int64),
        times=np.diff(np.append(begin, len(order))).astype(np.int64),
        total_ns=np.add.reduceat(took_ns[order], begin),
        gpu_ns=np.add.reduceat(sums["gpu_ns"][order], begin),
        call_ns=np.add.reduceat(sums["call_ns"][order], begin),
    )
    by_time = np.argsort(-found.total_ns, kind="stable")
    found = found.take(by_time)
    starts = np.append(np.int64(0), np.cumsum(found.kernels)[:-1])
    return SequenceRows(**found.columns() | {"first": starts}), leaders[by_time]


def _hashes(names: Int32, first: Rows, length: Rows) -> Int64:
    """A hash of each run: equal for equal kernels in equal order."""
    powers = np.cumprod(np.full(int(length.max()), _MULTIPLIER, np.uint64))  # wraps around
    row, place = numbered(first, length)
    mixed = (names[place].astype(np.int64) + 1).astype(np.uint64) * powers[place - first[row]]
    found = np.add.reduceat(mixed, np.append(0, np.cumsum(length)[:-1]))
    return np.asarray((found ^ (found >> np.uint64(29))).view(np.int64))


def _kernels(names: Int32, operators: Int32, first: Rows, length: Rows) -> SequenceKernels:
    _, place = numbered(first, length)
    return SequenceKernels(names[place], operators[place])
