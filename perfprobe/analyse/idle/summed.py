"""Sums idle time by cause and line."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.idle.blame import Blamed, BlamedIdle
from perfprobe.analyse.idle.gaps import stream_idle
from perfprobe.analyse.idle.overlap import overlaps
from perfprobe.analyse.loop.covered import Covered
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.idle import IdleKind, IdleRows, IdleTimes
from perfprobe.tables.steps import StepMark, StepTimes

_KEYS = ("device", "cause", "call", "operator", "frame", "forward_frame", "phase", "no_line", "linked")
_BY_KIND = {
    "host_wait_ns": IdleKind.HOST_WAIT,
    "kernel_wait_ns": IdleKind.KERNEL_WAIT,
    "other_ns": IdleKind.OTHER,
}


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
