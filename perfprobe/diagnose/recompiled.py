"""Rules: torch.compile compiled a function again and again, and steps wait for it.

Steps in which it compiles are left out of averages. In the first steps it has to. Later it compiles a
function anew, for other shapes or numbers, and nothing says that a longer run has no more of that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT, gain
from perfprobe.tables.compilations import Compilations, CompiledFunction
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recompiled
from perfprobe.tables.steps import StepMark, StepTimes

_OFTEN = 4  # times: a second compilation makes shapes dynamic, and one more a number
_SEVERAL = 3  # if they take long
_NOTEWORTHY = 0.01  # of the wall time
_LONG = 0.1
_FIRST = 2  # steps: the first one compiles, and the second if the first one changed something
_LATE = 2  # steps: one may be after the first evaluation


def recompiled(findings: Findings) -> Recompiled | None:
    """The function that was compiled most often, if that took a noteworthy time."""
    found, wall_ns = findings.get(Compilations), findings.wall_ns
    if found is None or not wall_ns:
        return None
    often = next((each for each in found.functions if _is_often(each, wall_ns)), None)
    return None if often is None else Recompiled(often, found.is_cut)


def _is_often(each: CompiledFunction, wall_ns: int) -> bool:
    is_long = each.number >= _SEVERAL and (each.again_ns or 0) >= _LONG * wall_ns
    return is_long or (each.number >= _OFTEN and (each.time_ns or 0) >= _NOTEWORTHY * wall_ns)


def compiling_steps(known: StepTimes) -> Iterator[Diagnosis]:
    """Steps of the leading loop after the first ones in which torch.compile was at work."""
    steps = known.steps.take(known.steps.loop == 0)  # by time
    duration_ns = steps.end_ns - steps.start_ns
    late = (steps.mark == StepMark.COMPILE) & (np.arange(len(steps)) >= _FIRST)
    time_ns = int(duration_ns[late].sum())
    share = time_ns / max(int((known.steps.end_ns - known.steps.start_ns).sum()), 1)
    if np.count_nonzero(late) < _LATE or share < STANDS_OUT:
        return
    yield Diagnosis(
        cause=Cause.COMPILE,
        base=Base.LOOP,
        time_ns=time_ns,
        share=share,
        stands_out=True,
        gain=gain(share),
        phases={},
        steps=int(np.count_nonzero(late)),
    )
