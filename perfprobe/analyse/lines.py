"""Operator time of each line of the program, for the source view."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import measured_sums, sort_by_keys
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import HotLines, Sums
from perfprobe.tables.stacks import Frames
from perfprobe.tables.trace import NoLine, Phase, Trace

PHASES = {
    "forward_ns": (Phase.FORWARD,),
    "backward_ns": (Phase.BACKWARD,),
    "recompute_ns": (Phase.RECOMPUTE,),
    "other_ns": (Phase.OTHER, Phase.COMPILE, Phase.DATA, Phase.OPTIMIZER),
}


def lines(trace: Trace, rows: Sums, typical_ns: Int64) -> HotLines:
    """The rows of operators by line of the program; those without a line by the reason for that.

    Most typical time first. typical_ns: of each row.
    """
    if len(rows) == 0:
        return HotLines.empty()
    frames = trace.recording[Frames]
    file = np.append(frames.file, np.int32(-1))[rows.frame]
    line = np.append(frames.line, np.int32(-1))[rows.frame]
    # Within each line the row with most typical time comes first: it is the hottest operator of the line.
    by_time = np.argsort(-typical_ns, kind="stable")
    no_line = np.where(rows.frame >= 0, np.int8(NoLine.NONE), rows.no_line)
    order, first = sort_by_keys([file[by_time], line[by_time], no_line[by_time]])
    order = by_time[order]
    hottest = rows.take(order[first])

    def sums(column: Int64) -> Int64:
        return np.add.reduceat(column[order], first)

    def in_phases(phases: tuple[Phase, ...]) -> Int64:
        return sums(np.where(np.isin(rows.phase, phases), rows.self_ns, 0))

    found = HotLines(
        frame=hottest.frame,
        no_line=no_line[order[first]],
        calls=sums(rows.calls),
        self_ns=sums(rows.self_ns),
        typical_ns=sums(typical_ns),
        **{name: in_phases(phases) for name, phases in PHASES.items()},
        gpu_self_ns=measured_sums(rows.gpu_self_ns, order, first),
        name=hottest.name,
        overload=hottest.overload,
        signature=hottest.signature,
    )
    return found.take(np.argsort(-found.typical_ns, kind="stable"))
