"""Rule: the GPU limits the program. The operators with most time on it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.gpu_verdict import GpuVerdict
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.trace import Trace

_STANDS_OUT = 0.05  # of the GPU's time
_MOST = 2


def gpu_operators(findings: Findings) -> Iterator[Diagnosis]:
    """The first ones, if what the busiest GPU computed limits the program; of the steps, if there are any."""
    verdict, whole, steps = findings.get(GpuVerdict), findings.get(Hotspots), findings.get(StepHotspots)
    if verdict is None or not verdict.is_bound or whole is None or whole.gpu_self_ns <= 0:
        return
    hotspots, number = (whole, 1) if steps is None else (steps.hotspots, max(steps.steps, 1))
    rows = hotspots.rows
    for row in np.argsort(-rows.gpu_self_ns, kind="stable")[:_MOST].tolist():
        time_ns = max(int(rows.gpu_self_ns[row]), 0)
        share = time_ns / max(hotspots.gpu_self_ns, 1)
        yield Diagnosis(
            cause=Cause.GPU_OPERATOR,
            base=Base.GPU,
            time_ns=time_ns // number,
            share=share,
            stands_out=share >= _STANDS_OUT,
            frame=_frame(findings.trace, int(rows.frame[row]), int(rows.forward_frame[row])),
            phases={},
            name=int(rows.name[row]),
            row=row,
        )


def _frame(trace: Trace, own: int, forward: int) -> int:
    return own if trace.line(own) is not None else forward
