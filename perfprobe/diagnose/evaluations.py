"""Rule: evaluations of a training program take a noteworthy part of the time of the loops.

Rollouts of reinforcement learning count as evaluations, and may take longer than all training steps. The
shares of a step say nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.limits import gain
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.steps import Phases, StepKind, StepMark, StepPhase, StepTimes

_NOTEWORTHY = 0.1  # of the time of steps and evaluations
_ONCE = (StepMark.WARM_UP, StepMark.COMPILE)  # a longer run has no more of these steps
_MOST = 0.5  # with a larger share they are the bottleneck
_MODEL = 0.2  # of their time: with less, calls of the model say nothing about them


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
        frame=_frame(int(known.loops.frame[loop]), phases),
        phases={
            StepPhase(phase): phase_ns
            for phase, phase_ns in zip(phases.phase.tolist(), phases.time_ns.tolist(), strict=True)
        },
        steps=int(is_own.sum()),
    )


def _frame(called: int, phases: Phases) -> int:
    """The line that calls the model; where that takes little, the line with most of the largest phase.

    A program may draw what its model made. called: the line of the call.
    """
    model_ns = int(phases.time_ns[phases.phase == StepPhase.FORWARD].sum())
    most = phases.take(phases.frame_ns >= phases.frame_ns.max(initial=0))
    is_other = len(most) > 0 and model_ns < _MODEL * int(phases.time_ns.sum()) and int(most.frame[0]) >= 0
    return int(most.frame[0]) if is_other else called
