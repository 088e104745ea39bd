"""The bottleneck of steps: SLOW, the possible gain, what comes next, and checks that found nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perfprobe.models.waiting import waited_ns
from perfprobe.report import shorten
from perfprobe.report.rows.bottleneck import Candidate, Threads, knows_python
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.report.section.screen.evaluations import Evaluations, evaluation_lines
from perfprobe.report.section.screen.gpu_bound import gpu_bound_lines, is_gpu_bound
from perfprobe.report.section.screen.loader import awaited_loader, worker_lines
from perfprobe.report.section.screen.model import module_lines
from perfprobe.report.section.screen.named import by_name
from perfprobe.report.section.screen.places import at_line, inputs, operator, place_in, times, whole_percent
from perfprobe.report.section.screen.short_operators import short_operator_lines
from perfprobe.report.section.screen.start_up import SlowStart, slow_start_lines
from perfprobe.report.section.screen.steps import is_inference
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.first_line import bare
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.python import Samples
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepMark, StepPhase, Steps, StepTimes
from perfprobe.tables.trace import Phase

_WORTH_NAMING = 0.05  # a part is named from this share of the step on
_NEARLY_ALL = 0.9
_LONGEST = 24  # cells of an operator's name
_COMPUTING = {StepPhase.FORWARD: Phase.FORWARD.name.lower(), StepPhase.BACKWARD: Phase.BACKWARD.name.lower()}
_ENGINE = "autograd::engine"  # rows of the engine itself are not the program's work
_FEW = 5  # with fewer steps their spread has no meaning
_LEAST_BLIND = 0.01
_LINE = 0.25  # an operator with a larger share of the step stands out in any phase
LONG_TEXTS = {
    StepPhase.OTHER: "Python outside of model and loader",
    StepPhase.DATA: "data loading",
    StepPhase.COPY: "copies to the device",
    StepPhase.FORWARD: "forward",
    StepPhase.BACKWARD: "backward",
    StepPhase.RECOMPUTE: "recomputation in backward",
    StepPhase.OPTIMIZER: "optimizer",
    StepPhase.ZERO_GRAD: "zero_grad",
    StepPhase.COMPILE: "torch.compile's own work",
    StepPhase.SAVING: "saving",
    StepPhase.LOGGING: "logging",
    StepPhase.COLLECTION: "Python's garbage collection",
    StepPhase.RESULTS: "reading results",
}


def slow_lines(
    findings: Findings, found: Sequence[Candidate], start: SlowStart | None, between: Evaluations | None
) -> Iterator[ScreenRow]:
    """The lines SLOW with its parts, LIMIT, GAIN and THEN.

    Args:
        start: what took longer before the first step than all steps, if anything did.
        between: evaluations, if they took longer than all steps.
    """
    if start is not None:
        yield from slow_start_lines(findings, start)
        yield from _next(findings, [each for each in found if each.stands_out][:1], "THEN")
        return
    if is_gpu_bound(findings):
        yield from gpu_bound_lines(findings)
        return
    if between is not None:
        yield from evaluation_lines(findings, between, "SLOW")
        yield from _next(findings, [each for each in found if each.stands_out][:1], "THEN")
        return
    if not found or not found[0].stands_out:
        yield from list(short_operator_lines(findings, "SLOW")) or [_nothing(findings)]
        return
    first = found[0]
    yield from _slow(findings, first)
    yield from _limit(findings, first)
    if first.gain is not None and first.share < _NEARLY_ALL:
        yield said("GAIN", f"at most {times(first.gain)}", " (bounded, not measured)", share=first.share)
    others = [each for each in found[1:] if each.phase != first.phase]
    yield from _next(findings, others[:1], "THEN")


def _slow(findings: Findings, first: Candidate) -> Iterator[ScreenRow]:
    facts: dict[str, Any] = {"time_ns": first.time_ns, "share": first.share, "line": first.line}
    if first.threads is not None:
        yield from _threads(first.threads, facts)
        return
    if first.module is not None:
        yield from module_lines(findings, first, first.module, facts)
        return
    how_much = f"{units.duration(first.time_ns)} = {whole_percent(first.share)}"
    if first.phase in (StepPhase.FORWARD, StepPhase.BACKWARD):
        yield _line_of(findings, first, first.phase, how_much, facts)
    elif first.phase is not None:
        loader = awaited_loader(findings) if first.phase is StepPhase.DATA else None
        line = first.line if loader is None or loader.line is None else loader.line
        facts["line"] = line
        what = f"{_text(findings, first.phase)}, {how_much}"
        yield said("SLOW", what, *place_in(line), style="bold", **facts)
        if loader is not None:
            yield from worker_lines(loader)
            return
    made_of = _made_of(findings, first)
    if made_of:
        yield said("", *made_of)


def _line_of(
    findings: Findings, first: Candidate, phase: StepPhase, how_much: str, facts: dict[str, Any]
) -> ScreenRow:
    computing = _text(findings, phase)
    at = "" if first.line is None else f"{at_line(first.line)}, "
    if first.row is None:
        function = "" if first.line is None else bare(first.line.function)
        name = f" in {printable(function)}" if function not in ("", "<module>") else ""
        return said("SLOW", f"{at}{how_much}, {computing}", name, style="bold", **facts)
    what = f", {computing}: {operator(first.row)}"
    return said("SLOW", f"{at}{how_much}{what}", inputs(first.row, " "), style="bold", **facts)


def _threads(known: Threads, facts: dict[str, Any]) -> Iterator[ScreenRow]:
    problem = known.problem
    kind = "oversubscription" if problem is None else problem.problem
    yield said("SLOW", f"{kind}: {_threads_text(known)}", style="bold", **facts)
    remedy = "set OMP_NUM_THREADS" if problem is None else problem.remedy
    yield said("", f"threads waited {known.waited:.1f} s for a core for each s of CPU time", f"; {remedy}")


def _threads_text(known: Threads) -> str:
    if known.problem is not None:
        return known.problem.what
    return f"{known.torch} torch threads on {known.allowed:g} allowed core{'' if known.allowed == 1 else 's'}"


def _text(findings: Findings, phase: StepPhase) -> str:
    if is_inference(findings[StepTimes]):
        return {StepPhase.DATA: "input", StepPhase.FORWARD: "model"}.get(phase, LONG_TEXTS[phase])
    return LONG_TEXTS[phase]


def _made_of(findings: Findings, first: Candidate) -> list[str]:
    """The parts of a candidate: the noteworthy operators at its line or in its phase."""
    if first.line_ns and first.phase not in (StepPhase.FORWARD, StepPhase.BACKWARD):
        part = first.line_ns / max(first.time_ns, 1)
        line = [] if part >= _NEARLY_ALL else [f"{units.duration(first.line_ns)} at that line"]
    else:
        line = []
    parts = [] if first.row is not None else _operators_of(findings, first)
    return list(listed([*line, *parts]))


def _operators_of(findings: Findings, first: Candidate) -> list[str]:
    """The operators that take a noteworthy part of a candidate's line: `bmm 20.1 ms in 3 shapes`."""
    if findings.get(StepHotspots) is None or first.line is None:
        return []
    steps = findings[StepHotspots].steps
    at = [row for row in step_operators(findings, 0) if first.line in (row.ran.line, row.ran.forward)]
    if first.phase in _COMPUTING:
        at = [row for row in at if _COMPUTING[first.phase] == row.ran.phase]
    named = by_name((row, row.ran.typical_ns) for row in at)
    named = [each for each in named if each.time_ns >= _WORTH_NAMING * first.time_ns * steps]
    return [f"{each.name} {units.duration(each.time_ns / steps)}{each.shapes}" for each in named[:3]]


def _limit(findings: Findings, first: Candidate) -> Iterator[ScreenRow]:
    """Yields how near the operator is to its limit, or how to find out."""
    row = first.row
    if row is None:
        return
    if row.of_limit is not None:
        verdict = f": {row.verdict}" if row.verdict else ""
        yield said("LIMIT", f"at {whole_percent(row.of_limit)} of its limit, {row.limit}{verdict}")
    elif Measurements not in findings:
        yield said("LIMIT", "not measured: perfprobe bench")


def _next(findings: Findings, found: Sequence[Candidate], label: str) -> Iterator[ScreenRow]:
    for each in found:
        if each.share < _WORTH_NAMING:
            continue
        facts: dict[str, Any] = {"time_ns": each.time_ns, "share": each.share, "line": each.line}
        much = f"{units.duration(each.time_ns)} = {whole_percent(each.share)}"
        at = "" if each.line is None else f" {at_line(each.line)}"
        text = _threads_text(each.threads) if each.threads else f"{_what(findings, each)}{at}, {much}"
        yield said(label, text, **facts)


def _what(findings: Findings, each: Candidate) -> str:
    if each.module is not None:
        return printable(each.module.name)
    what = "" if each.phase is None else _text(findings, each.phase)
    return what if each.row is None else f"{what} {operator(each.row)}"


def _nothing(findings: Findings) -> ScreenRow:
    """If nothing stands out: the largest row."""
    rows = step_operators(findings, 0) if findings.get(StepHotspots) is not None else []
    rows = [row for row in rows if not (row.operator or "").startswith(_ENGINE)]
    largest, step = "", "call" if is_inference(findings[StepTimes]) else "step"
    facts: dict[str, Any] = {}
    if rows and rows[0].share >= _LINE:  # it has no phase if no Python was recorded
        text = f"{operator(rows[0])}, {whole_percent(rows[0].share)} of the {step}"
        return said("SLOW", text, inputs(rows[0], ", "), style="bold", share=rows[0].share)
    if rows:
        line = rows[0].ran.origin
        at = "" if line is None else f" {place(line)}"
        largest = (
            f"; largest row {shorten.cut(operator(rows[0]), _LONGEST)}{at}, {whole_percent(rows[0].share)}"
        )
        facts = {"share": rows[0].share, "line": line}
    return said("SLOW", "nothing stands out", largest, style="bold", **facts)


def checked_lines(findings: Findings) -> Iterator[ScreenRow]:
    """For steps in which nothing stands out: what was checked, what was not, and what would be too small."""
    yield said("CHECKED", ", ".join(_checked(findings)))
    unknown = list(_unknown(findings))
    if unknown:
        yield said("UNKNOWN", *listed(unknown, between="; "))
    blind = _blind(findings[StepTimes])
    if blind is not None:
        yield said("BLIND", f"gains below {whole_percent(blind)} cannot be seen in these steps", share=blind)


def _checked(findings: Findings) -> Iterator[str]:
    recording = findings.trace.recording
    yield from ("data waits", "operators")
    if _has_samples(findings):
        yield from ("lines", "logging", "saving")
    if waited_ns(recording) is not None:
        yield "cores"
    if findings[StepTimes].start_up_ns is not None:
        yield "start-up"


def _unknown(findings: Findings) -> Iterator[str]:
    recording = findings.trace.recording
    is_trace = recording.is_trace
    if not (knows_python(findings) if is_trace else _has_samples(findings)):
        yield f"lines, logging, saving ({'with_stack=True' if is_trace else '--python both'})"
    if recording.fact("recording", "memory") is not True:
        yield f"memory ({'profile_memory=True' if is_trace else '--memory'})"
    if Measurements not in findings:
        no_shapes = recording.fact("trace", "shapes") is False
        yield f"operator limits ({'record_shapes=True' if no_shapes else 'perfprobe bench, 3 min'})"


def _has_samples(findings: Findings) -> bool:
    """Whether threads were sampled. A killed program has samples, but not their number."""
    recording = findings.trace.recording
    return bool(recording.rows(Samples)) or (recording.number("sampler", "ticks") or 0) > 0


def _blind(found: StepTimes) -> float | None:
    """The smallest detectable change of the median step, as a share of it, given the spread of the steps.

    It is 2.8 standard errors: the difference of two such medians, at 95 %. The standard error of a median of
    n values is 1.253 sigma / sqrt(n), where sigma is 1.4826 times the median absolute deviation.
    """
    steps: Steps = found.steps.take((found.steps.loop == 0) & (found.steps.mark == StepMark.STEADY))
    if len(steps) < _FEW:
        return None
    duration_ns = (steps.end_ns - steps.start_ns).astype(np.float64)
    middle = float(np.median(duration_ns))
    spread = 1.4826 * float(np.median(np.abs(duration_ns - middle)))
    return float(max(2.8 * 1.253 * spread / middle / len(steps) ** 0.5, _LEAST_BLIND))
