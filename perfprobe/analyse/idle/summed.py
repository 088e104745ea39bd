"""Sums idle time by cause and line, and how long kinds of work ran alone and at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.idle.blame import Blamed, BlamedIdle
from perfprobe.analyse.idle.gaps import Work, each_device, stream_idle
from perfprobe.analyse.loop.covered import Covered
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.idle import IdleKind, IdleRows, IdleTimes, Overlaps
from perfprobe.tables.steps import StepMark, StepTimes

_KEYS = ("device", "cause", "call", "operator", "frame", "forward_frame", "phase", "no_line", "linked")
_BY_KIND = {
    "host_wait_ns": IdleKind.HOST_WAIT,
    "kernel_wait_ns": IdleKind.KERNEL_WAIT,
    "other_ns": IdleKind.OTHER,
}
# The column of each combination: a bit for each of COMPUTE, COMMUNICATION and COPY.
_COMBINATIONS = (
    *("idle_ns", "computing_ns", "communicating_ns", "computing_communicating_ns"),
    *("copying_ns", "computing_copying_ns", "communicating_copying_ns", "all_ns"),
)


def idle_times(blamed: BlamedIdle | None, times: StepTimes) -> IdleTimes | None:
    """Returns the sums of idle time; None if no GPU work has times."""
    if blamed is None or blamed.work is None or len(blamed.work.start_ns) == 0:
        return None
    steady = (times.steps.loop == 0) & (times.steps.mark == StepMark.STEADY)
    in_steps = Covered(times.steps.start_ns[steady], times.steps.end_ns[steady])
    return IdleTimes(
        rows=_rows(blamed.pieces(), in_steps),
        streams=stream_idle(blamed.work, blamed.outside),
        overlaps=overlaps(blamed.work),
        steady=int(np.count_nonzero(steady)),
    )


def _rows(pieces: Blamed, in_steps: Covered) -> IdleRows:
    if len(pieces) == 0:
        return IdleRows.empty()
    keys = [getattr(pieces, name) for name in _KEYS]
    order, first = sort_by_keys([*keys, pieces.gap_number])
    took_ns = pieces.end_ns - pieces.start_ns
    of_gap = _sums(took_ns[order], first)
    leaders = order[first]  # one for each row and gap
    steps_ns = _sums(in_steps.within(pieces.start_ns, pieces.end_ns)[order], first)
    again, begin = sort_by_keys([key[leaders] for key in keys])
    chosen, gap_ns = leaders[again], of_gap[again]
    by_kind: dict[str, Any] = {
        name: _sums(np.where(pieces.kind[chosen] == kind, gap_ns, 0), begin)
        for name, kind in _BY_KIND.items()
    }
    found = IdleRows(
        **{name: getattr(pieces, name)[chosen[begin]] for name in _KEYS},
        gaps=np.diff(np.append(begin, len(chosen))).astype(np.int64),
        total_ns=_sums(gap_ns, begin),
        longest_ns=np.maximum.reduceat(gap_ns, begin),
        steps_ns=_sums(steps_ns[again], begin),
        **by_kind,
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))


def _sums(values: Int64, first: Rows) -> Int64:
    return np.add.reduceat(values.astype(np.int64), first)


def overlaps(work: Work) -> Overlaps:
    """Returns a row for each device."""
    return Overlaps.concat([_overlaps_of(work, device, own) for device, own in each_device(work)])


def _overlaps_of(work: Work, device: int, own: Rows) -> Overlaps:
    time_ns = np.concatenate([work.start_ns[own], work.end_ns[own]])
    change = np.concatenate([np.ones(len(own), np.int8), np.full(len(own), -1, np.int8)])
    kind = np.tile(work.kind[own], 2)
    order = np.argsort(time_ns, kind="stable")
    time_ns, change, kind = time_ns[order], change[order], kind[order]
    running = np.zeros(len(order), np.int8)
    for bit in range(3):
        is_running = np.cumsum(change * (kind == bit), dtype=np.int64) > 0
        running |= np.where(is_running, np.int8(1 << bit), np.int8(0))
    lasted_ns = np.zeros(len(_COMBINATIONS), np.int64)
    np.add.at(lasted_ns, running[:-1], np.diff(time_ns))
    columns = {name: lasted_ns[at : at + 1] for at, name in enumerate(_COMBINATIONS)}
    return Overlaps(device=np.array([device], np.int32), **columns)
