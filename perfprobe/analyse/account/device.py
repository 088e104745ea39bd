"""Makes the account of a GPU: its work and its idle time in the leading loop's steps.

Work of several streams that runs at the same time counts once. Computing hides communication, and both hide
copies, as in the step times of the TensorBoard plugin (torch_tb_profiler 0.4.3, `common_profiler.py`) and in
HolisticTraceAnalysis (`BreakdownAnalysis`, exposed communication): what is hidden would not make a step
shorter. Of work of one kind, each gets an equal part of the time in which it runs together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.watch import same_line
from perfprobe.analyse.gpu_origins import origins_of
from perfprobe.analyse.grouping import group_of, sort_by_keys
from perfprobe.analyse.idle.blame import Blamed, BlamedIdle
from perfprobe.analyse.idle.gaps import COMMUNICATION, COMPUTE, COPY, Work
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.timeline import is_possible
from perfprobe.analyse.operator_rows import same_signatures
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.device_account import DeviceAccount, DeviceKind, DeviceLeaves
from perfprobe.tables.gpu import Copies, GpuLinks, Kernels
from perfprobe.tables.idle import IdleCause
from perfprobe.tables.intervals import overlaps
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Phase, Trace

Floats = npt.NDArray[np.float64]
_KINDS = {COMPUTE: DeviceKind.KERNEL, COMMUNICATION: DeviceKind.COMMUNICATION, COPY: DeviceKind.COPY}
_KEYS = ("kind", "cause", "copy", "name", "operator", "signature", "frame", "phase", "module")


class Windows(NamedTuple):
    """Stretches of time in order, without overlaps."""

    start_ns: Int64
    end_ns: Int64

    def busy_ns(self, work: Work) -> int:
        """For how long of them anything ran."""
        return int(Covered(work.start_ns, work.end_ns).within(self.start_ns, self.end_ns).sum())


def device_account(trace: Trace, times: StepTimes, blamed: BlamedIdle | None) -> DeviceAccount | None:
    """The account of the GPU that was busiest in the steps; None if no work has times."""
    links = trace.gpu
    if blamed is None or blamed.work is None or links is None:
        return None
    work = blamed.work.take(is_possible(blamed.work.start_ns, blamed.work.end_ns))
    if len(work.start_ns) == 0:
        return None
    own, every = _windows(times, work)
    busy_ns = {each: every.busy_ns(_of(work, each)) for each in distinct(work.device).tolist()}
    device = max(busy_ns, key=lambda each: busy_ns[each])
    work = _of(work, device)
    whole = Windows(work.start_ns.min(keepdims=True), work.end_ns.max(keepdims=True))
    of_steps = len(own.start_ns) > 0 and _is_theirs(times, every, work, whole)
    windows = own if of_steps else whole
    time_ns = int((windows.end_ns - windows.start_ns).sum())
    leaves = [_busy(trace, links, work, windows), _idle(trace, blamed, device, windows)]
    left_ns = time_ns - sum(int(rows.time_ns.sum()) for rows in leaves)
    if left_ns > 0:
        leaves.append(_leaves(np.array([left_ns]), kind=DeviceKind.IDLE, cause=IdleCause.UNKNOWN))
    rows = DeviceLeaves.concat(leaves)
    rows = rows.take(np.argsort(-rows.time_ns, kind="stable"))
    return DeviceAccount(rows, device, of_steps, len(windows.start_ns), time_ns)


def _of(work: Work, device: int) -> Work:
    return work.take(work.device == device)


def _is_theirs(times: StepTimes, every: Windows, work: Work, whole: Windows) -> bool:
    """Whether half of the work, or more, is of steps: launched in them; run then, if launches are not known.

    While a server's short step of the host runs, the GPU may do what others launched long before.
    """
    known = work.launch_ns >= 0
    if 2 * np.count_nonzero(known) < len(known):
        return 2 * every.busy_ns(work) >= whole.busy_ns(work)
    time_ns = (work.end_ns - work.start_ns)[known]
    inside = Covered(times.steps.start_ns, times.steps.end_ns)
    launched = inside.within(work.launch_ns[known], work.launch_ns[known] + 1) > 0
    return bool(2 * time_ns[launched].sum() >= time_ns.sum())


def _windows(times: StepTimes, work: Work) -> tuple[Windows, Windows]:
    """The steps that count, and all steps and evaluations of the thread of the leading loop.

    Each lasts until the work that it launched has ended, or the next one begins.
    """
    steps, leading = times.steps, times.leading()
    every = np.flatnonzero(steps.thread == steps.thread[leading[:1]]) if len(leading) else leading
    every = every[np.argsort(steps.start_ns[every], kind="stable")]
    start_ns, end_ns = steps.start_ns[every], steps.end_ns[every].copy()
    at, row, _ = overlaps(start_ns, end_ns, work.launch_ns, work.launch_ns + 1)
    np.maximum.at(end_ns, at, work.end_ns[row])
    end_ns[:-1] = np.minimum(end_ns[:-1], np.maximum(start_ns[1:], steps.end_ns[every][:-1]))
    own = np.flatnonzero(np.isin(every, leading))
    return Windows(start_ns[own], end_ns[own]), Windows(start_ns, end_ns)


def _busy(trace: Trace, links: GpuLinks, work: Work, windows: Windows) -> DeviceLeaves:
    """The leaves of kernels and copies."""
    step, row, _ = overlaps(windows.start_ns, windows.end_ns, work.start_ns, work.end_ns)
    start_ns = np.maximum(work.start_ns[row], windows.start_ns[step])
    end_ns = np.minimum(work.end_ns[row], windows.end_ns[step])
    kept = end_ns > start_ns
    step, row, start_ns, end_ns = step[kept], row[kept], start_ns[kept], end_ns[kept]
    time_ns = divided(start_ns, end_ns, work.kind[row])
    return _summed(_origins(trace, links, work.take(row)), time_ns, step)


def divided(start_ns: Int64, end_ns: Int64, kind: npt.NDArray[np.int8]) -> Floats:
    """The part of each interval's time that is its own; all together are the union.

    A kind hides the larger ones. Intervals of one kind share the time in which they run together equally.
    """
    moments = distinct(np.concatenate([start_ns, end_ns]))
    begin, finish = np.searchsorted(moments, start_ns), np.searchsorted(moments, end_ns)
    length_ns = np.diff(moments, append=moments[-1:]).astype(np.float64)
    hidden, found = np.zeros(len(moments), np.bool_), np.zeros(len(start_ns))
    for each in range(len(_KINDS)):
        own = kind == each
        change = np.bincount(begin[own], minlength=len(moments)) - np.bincount(
            finish[own], minlength=len(moments)
        )
        running = np.cumsum(change)
        passed = np.append(0, np.cumsum(np.where(hidden, 0, length_ns) / np.maximum(running, 1)))
        found[own] = passed[finish[own]] - passed[begin[own]]
        hidden |= running > 0
    return found


def _origins(trace: Trace, links: GpuLinks, work: Work) -> dict[str, npt.NDArray[Any]]:
    """For each row of work the columns of `DeviceLeaves` that say what it is."""
    kernels, copies, sites = trace.recording[Kernels], trace.recording[Copies], links.sites
    is_kernel = work.row < len(kernels)
    copy = np.append(copies.kind, np.int8(-1))[np.where(is_kernel, -1, work.row - len(kernels))]
    name = np.append(kernels.name, np.int32(-1))[np.where(is_kernel, work.row, -1)]
    both = zip(*origins_of(trace.recording, links), strict=True)
    _, site, _, is_node, several = (np.concatenate(each)[work.row] for each in both)

    def at_site(column: npt.NDArray[Any], absent: int = -1) -> npt.NDArray[Any]:
        return np.append(column, column.dtype.type(absent))[site]

    def where_not(hidden: Mask, column: Int32) -> Int32:
        return np.where(hidden, np.int32(-1), at_site(column))

    return {
        "kind": np.array([_KINDS[each] for each in range(len(_KINDS))], np.int8)[work.kind],
        "cause": np.full(len(copy), -1, np.int8),
        "copy": copy,
        "name": name,
        "operator": where_not(is_node, sites.name),
        "signature": where_not(is_node | several, same_signatures(trace)[sites.signature]),
        "frame": _lines(trace, at_site(sites.frame), at_site(sites.forward_frame), at_site(sites.phase, 0)),
        "phase": at_site(sites.phase, 0),
        "module": where_not(several, sites.module),
    }


def _lines(trace: Trace, frame: Int32, forward: Int32, phase: npt.NDArray[np.int8]) -> Int32:
    """The first frame on each line: that of the forward call in backward, if it is known."""
    chosen = np.where((forward >= 0) & ((phase == Phase.BACKWARD) | (frame < 0)), forward, frame)
    return same_line(trace.recording[Frames])[chosen]


def _idle(trace: Trace, blamed: BlamedIdle, device: int, windows: Windows) -> DeviceLeaves:
    """The leaves of idle time."""
    rows = Blamed.concat([blamed.pieces(), blamed.edges()])
    rows = rows.take(rows.device == device)
    step, row, time_ns = overlaps(windows.start_ns, windows.end_ns, rows.start_ns, rows.end_ns)
    step, rows, time_ns = step[time_ns > 0], rows.take(row[time_ns > 0]), time_ns[time_ns > 0]
    none = np.full(len(rows), -1)
    known: dict[str, npt.NDArray[Any]] = {
        **{"kind": np.full(len(rows), DeviceKind.IDLE), "cause": rows.cause},
        **dict.fromkeys(("copy", "signature", "module"), none),
        **{"name": rows.call, "operator": rows.operator, "phase": rows.phase},
        "frame": _lines(trace, rows.frame, rows.forward_frame, rows.phase),
    }
    return _summed(known, time_ns.astype(np.float64), step)


def _summed(known: dict[str, npt.NDArray[Any]], time_ns: Floats, step: Rows) -> DeviceLeaves:
    """Leaves of parts: those that are equal together, in whole ns that keep the sum."""
    if len(step) == 0:
        return DeviceLeaves.empty()
    order, first = sort_by_keys([known[name] for name in _KEYS])
    up_to = np.rint(np.cumsum(np.add.reduceat(time_ns[order], first)))
    in_step = distinct(group_of(order, first).astype(np.int64) * (int(step.max()) + 1) + step)
    return _leaves(
        np.diff(up_to, prepend=0).astype(np.int64),
        **{name: known[name][order[first]] for name in _KEYS},
        steps=np.bincount(in_step // (int(step.max()) + 1), minlength=len(first)),
    )


def _leaves(time_ns: Int64, **given: Any) -> DeviceLeaves:
    """Rows with these columns; others are -1, and phases 0."""
    rows = len(time_ns)
    known = {name: np.full(rows, 0 if name == "phase" else -1) for name in DeviceLeaves.dtypes}
    known |= {"time_ns": time_ns} | {name: np.broadcast_to(value, rows) for name, value in given.items()}
    return DeviceLeaves(**{name: known[name].astype(dtype) for name, dtype in DeviceLeaves.dtypes.items()})
