"""Rule: evaluations of a training program take a noteworthy part of the time of the loops.

Rollouts of reinforcement learning count as evaluations, and may take longer than all training steps. The
shares of a step say nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.limits import gain
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.steps import StepKind, StepMark, StepPhase, StepTimes

_NOTEWORTHY = 0.1  # of the time of steps and evaluations
_ONCE = (StepMark.WARM_UP, StepMark.COMPILE)  # a longer run has no more of these steps
_MOST = 0.5  # with a larger share they are the bottleneck


def evaluations(known: StepTimes) -> Iterator[Diagnosis]:
    """All evaluations together. The line and the phases are of the loop with most of their time."""
    steps = known.steps
    duration_ns, is_own = steps.end_ns - steps.start_ns, steps.kind == StepKind.EVALUATION
    counts = is_own | ~np.isin(steps.mark, _ONCE)
    time_ns, whole_ns = int(duration_ns[is_own].sum()), int(duration_ns[counts].sum())
    trains = int(known.loops.kind[0]) == StepKind.TRAINING
    if not trains or time_ns < _NOTEWORTHY * whole_ns or time_ns == 0:
        return
    loop, share = int(np.bincount(steps.loop[is_own], duration_ns[is_own]).argmax()), time_ns / whole_ns
    phases = known.phases.take(known.phases.loop == loop)
    yield Diagnosis(
        cause=Cause.EVALUATION,
        base=Base.LOOP,
        time_ns=time_ns,
        share=share,
        stands_out=share > _MOST,
        gain=gain(share),
        frame=int(known.loops.frame[loop]),
        phases={
            StepPhase(phase): phase_ns
            for phase, phase_ns in zip(phases.phase.tolist(), phases.time_ns.tolist(), strict=True)
        },
        steps=int(is_own.sum()),
    )
