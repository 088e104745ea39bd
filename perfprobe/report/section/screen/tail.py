"""The cause of slow steps, and other problems of steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.advice import remedy
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.report.section.screen.steps import is_inference, step_word
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Growing, NeedlessForward, NeedlessGraphs, Recomputed, SlowDtype
from perfprobe.tables.steps import INFERENCE_TEXTS, PHASE_TEXTS, StepKind, StepMark, StepPhase, StepTimes

_UNTRAINED = {StepKind.INFERENCE: "call", StepKind.EVALUATION: "evaluation"}


def tail_lines(findings: Findings) -> Iterator[ScreenRow]:
    """TAIL: how many outliers there are, the longest, and the phase in which it took longer than others."""
    times = findings[StepTimes]
    outliers = np.flatnonzero((times.steps.loop == 0) & (times.steps.mark == StepMark.OUTLIER))
    if len(outliers) == 0:
        return
    duration_ns = (times.steps.end_ns - times.steps.start_ns)[outliers]
    longest = int(outliers[duration_ns.argmax()])
    first = int(np.flatnonzero(times.steps.loop == 0)[0])
    phase = _longer(times, longest)
    word = "call" if is_inference(times) else "step"
    count = f"{len(outliers):,} {word}{'' if len(outliers) == 1 else 's'} far longer than the median"
    texts = INFERENCE_TEXTS if is_inference(times) else PHASE_TEXTS
    by = "" if phase is None else f", by {texts[phase]}"
    longest_ns = int(duration_ns.max())
    yield said(
        "TAIL",
        f"{count}; longest {units.duration(longest_ns)} ({word} {longest - first + 1:,})",
        by,
        time_ns=longest_ns,
    )


def graph_lines(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: evaluations, or calls of a model that is not trained, in which autograd recorded needlessly."""
    found = findings.get(NeedlessGraphs)
    for each in () if found is None else found.found:
        word = _UNTRAINED[each.kind]
        which = "all" if each.recorded == each.number else f"{each.recorded:,} of"
        text = f"autograd recorded in {which} {each.number:,} {word}{'' if each.number == 1 else 's'}"
        text = f"autograd recorded in the {word}" if each.number == 1 else text
        yield said("ALSO", text, *remedy(findings, "no-grad"))


def dtype_lines(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: a dtype for which CPUs are slow, the line that converts to it, and what to use."""
    found = findings.get(SlowDtype)
    if found is None:
        return
    line = findings.trace.line(found.frame)
    at = () if line is None else (f", made at {place(line)}",)
    text = f"{whole_percent(found.share)} of a {step_word(findings)} computes in {found.dtype}"
    yield said("ALSO", text, *at, *remedy(findings, found.dtype), share=found.share, line=line)


def growing_lines(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: a line that copies a growing result again and again, and what to do."""
    found = findings.get(Growing)
    line = None if found is None else findings.trace.line(found.frame)
    if found is None or line is None:
        return
    text = f"cat at {place(line)} copies its own result, {found.calls:,} times"
    yield said("ALSO", text, *remedy(findings, "cat-in-loop"), share=found.share, line=line)


def forward_lines(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: forward that no backward uses, and what to do."""
    found = findings.get(NeedlessForward)
    line = None if found is None else findings.trace.line(found.frame)
    if found is None or line is None:
        return
    text = f"{whole_percent(found.share)} of a {step_word(findings)} is forward without backward"
    at = f", most at {place(line)}"
    yield said("ALSO", text, at, *remedy(findings, "unused-forward"), share=found.share, line=line)


def recomputed_lines(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: forward that backward computes again, and when that is needed."""
    found = findings.get(Recomputed)
    if found is None:
        return
    line = findings.trace.line(found.frame)
    text = f"{whole_percent(found.share)} of a {step_word(findings)} computes forward again (checkpoint)"
    at = () if line is None else (f", most at {place(line)}",)
    yield said("ALSO", text, *at, *remedy(findings, "recomputed"), share=found.share, line=line)


def _longer(times: StepTimes, step: int) -> StepPhase | None:
    """The phase that exceeds its median most in this step."""
    own = times.step_phases.take(times.step_phases.step == step)
    usual = times.phases.take(times.phases.loop == 0)
    median_ns = dict(zip(usual.phase.tolist(), usual.median_ns.tolist(), strict=True))
    beyond = [
        (time_ns - median_ns.get(phase, 0), phase)
        for phase, time_ns in zip(own.phase.tolist(), own.time_ns.tolist(), strict=True)
    ]
    return StepPhase(max(beyond)[1]) if beyond and max(beyond)[0] > 0 else None
