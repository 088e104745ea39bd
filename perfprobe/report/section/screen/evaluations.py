"""Evaluations on the first screen, if they are a noteworthy part of the time of the loops.

Rollouts of reinforcement learning count as evaluations, and may take longer than all training steps. The
shares of a step say nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.screen.places import place_in, times, whole_percent
from perfprobe.report.section.screen.steps import is_inference
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import INFERENCE_TEXTS, StepKind, StepPhase, StepTimes
from perfprobe.tables.trace import Line

_NOTEWORTHY = 0.1  # of the time of steps and evaluations
_MOST = 0.5  # with a larger share they are the bottleneck
_LEAST_PART = 0.05
_MOST_PARTS = 3


class Evaluations(NamedTuple):
    """All evaluations. share: of the time of steps and evaluations. loop: the one with most time."""

    number: int
    time_ns: int
    share: float
    loop: int
    line: Line | None

    @property
    def are_most(self) -> bool:
        """Whether they take longer than the steps."""
        return self.share > _MOST


def evaluations(findings: Findings) -> Evaluations | None:
    """The evaluations of a training program; None if they take little time, or if nothing is trained."""
    known = findings[StepTimes]
    steps = known.steps
    duration_ns, is_own = steps.end_ns - steps.start_ns, steps.kind == StepKind.EVALUATION
    time_ns, whole_ns = int(duration_ns[is_own].sum()), int(duration_ns.sum())
    if is_inference(known) or time_ns < _NOTEWORTHY * whole_ns or time_ns == 0:
        return None
    loop = int(np.bincount(steps.loop[is_own], duration_ns[is_own]).argmax())
    line = findings.trace.line(int(known.loops.frame[loop]))
    return Evaluations(int(is_own.sum()), time_ns, time_ns / whole_ns, loop, line)


def evaluation_lines(findings: Findings, found: Evaluations, label: str) -> Iterator[ScreenRow]:
    """The line with this label; for SLOW what they consist of, and GAIN."""
    each = "" if found.number == 1 else f" in {found.number:,}"
    text = f"evaluation or rollout, {units.duration(found.time_ns)}{each} = {whole_percent(found.share)}"
    facts = {"time_ns": found.time_ns, "share": found.share, "line": found.line}
    is_first = label == "SLOW"
    yield said(label, f"{text} of the loop", *place_in(found.line), style="bold" if is_first else "", **facts)
    if is_first:
        yield said("", "between training steps", *listed(_parts(findings, found), first=": "))
        if found.share < 0.995:
            gain = times(1 / (1 - found.share))
            yield said("GAIN", f"at most {gain}", " (bounded, not measured)", share=found.share)


def _parts(findings: Findings, found: Evaluations) -> Iterator[str]:
    """`model 67 %`, `other 32 %`: the largest phases."""
    phases = findings[StepTimes].phases
    rows = phases.take(phases.loop == found.loop)
    whole_ns = max(int(rows.time_ns.sum()), 1)
    for phase, time_ns in list(zip(rows.phase.tolist(), rows.time_ns.tolist(), strict=True))[:_MOST_PARTS]:
        if time_ns >= _LEAST_PART * whole_ns:
            yield f"{INFERENCE_TEXTS[StepPhase(phase)]} {whole_percent(time_ns / whole_ns)}"
