"""The words for a judgement about steps: how much it is, which phases, which operators."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.report.rows.diagnosed import main_operator, operators_of
from perfprobe.report.rows.named import is_named, is_nearly_all
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.rows.screen import listed
from perfprobe.report.section.screen.named import by_name
from perfprobe.report.section.screen.phase_texts import phase_text
from perfprobe.report.section.screen.places import at_line, inputs, operator, whole_percent
from perfprobe.report.section.screen.steps import ORDER, step_word
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.first_line import bare
from perfprobe.support.text import printable
from perfprobe.tables.account import LEAF_TEXTS, LeafKind
from perfprobe.tables.diagnoses import Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line

_MOST_PARTS = 3
_WAITS = {Cause.RANKS: LeafKind.RANKS, Cause.LOCK: LeafKind.LOCK, Cause.GPU: LeafKind.GPU}
_OF_OPERATORS = (Cause.LINE, Cause.OPERATOR)


class Main(NamedTuple):
    """The operator with most of a judgement's time. row: None if it has several rows."""

    name: str
    inputs: str
    row: OperatorRow | None


def how_much(each: Diagnosis) -> str:
    """`757 ms = 61 %`, with the error of the share if it is a percent or more."""
    error = f" +- {units.whole_percent(each.error)}" if each.error >= 0.01 else ""
    error = ", a rough estimate" if each.error >= each.share else error
    return f"{units.duration(each.time_ns)} = {whole_percent(each.share)}{error}"


def in_steps(findings: Findings, each: Diagnosis) -> str:
    """` in 3 of 24 steps` for time that is in few of them."""
    steps = findings[Diagnoses].steps
    return f" in {each.steps:,} of {steps:,} {step_word(findings)}s" if 0 < 2 * each.steps <= steps else ""


def main_of(findings: Findings, each: Diagnosis) -> Main | None:
    """The operator with at least half of the time, if it is about a line or an operator."""
    operators = operators_of(findings, each) if each.cause in _OF_OPERATORS else []
    main = main_operator(operators, each.time_ns * findings[Diagnoses].steps)
    if main is None:
        return None
    if main.rows > 1:
        return Main(operator(main.row), f" in {main.rows:,} shapes", None)
    return Main(operator(main.row), inputs(main.row, " "), main.row)


def phases_of(findings: Findings, each: Diagnosis, main: Main | None) -> str:
    """`forward + backward`: the phases with a noteworthy part of a line's time."""
    whole_ns = max(sum(each.phases.values()), 1)
    named = [phase for phase in ORDER if is_named(each.phases.get(phase, 0), whole_ns)]
    texts = [
        "Python" if phase is StepPhase.OTHER else phase_text(findings, phase)
        for phase in named
        if phase is not StepPhase.OTHER or main is None
    ]
    return " + ".join(texts)


def what(findings: Findings, each: Diagnosis, between: str = " ") -> str:
    """What it is, without its place: `data loading`, `forward mm`. between: phases and operator."""
    if each.module is not None:
        return printable(each.module) + _phases_of_module(findings, each)
    if each.cause in (Cause.UNEXPLAINED, Cause.CONVERSIONS):
        return "layout conversions" if each.cause is Cause.CONVERSIONS else "time between operators"
    if each.cause is Cause.FUNCTION:
        line = findings.trace.line(each.frame)
        return "" if line is None else printable(bare(line.function))
    if each.cause in _WAITS:
        return LEAF_TEXTS[_WAITS[each.cause]]
    if each.cause is Cause.OPERATOR:
        return printable(findings.trace.recording[Strings][each.name])
    main = main_of(findings, each)
    return between.join(filter(None, [phases_of(findings, each, main), "" if main is None else main.name]))


def _phases_of_module(findings: Findings, each: Diagnosis) -> str:
    """Of modules that are judged as such, apart from their tree."""
    if each.cause is Cause.FORWARD_ONLY:
        return ", forward without backward"
    return f", {phases_of(findings, each, None)}" if each.cause is Cause.MODULES else ""


def in_a_line(findings: Findings, each: Diagnosis) -> str:
    """Where, how much and what: `ffn.py:162, 87.0 ms = 7 %, backward: mm`; a name comes before its place."""
    line, text = findings.trace.line(each.frame), what(findings, each, ": ")
    if line is None:
        return f"{text}, {how_much(each)}"
    if each.cause in (Cause.LINE, Cause.CONVERSIONS):
        at = at_line(line) if each.lines is None else _of(line, each.lines)
        return f"{at}, {how_much(each)}, {text}"
    return f"{text}, {how_much(each)}: {at_line(line)}"


def _of(line: Line, lines: tuple[int, int]) -> str:
    """`model.py:10-12`."""
    file = place(line).rpartition(":")[0]
    return f"{file}:{lines[0]}-{lines[1]}"


def made_of(findings: Findings, each: Diagnosis) -> list[str]:
    """The parts: how much is at the line that is named, and the noteworthy operators there."""
    steps = findings[Diagnoses].steps
    is_whole = is_nearly_all(each.line_ns, each.time_ns) or not each.line_ns
    line = [] if is_whole else [f"{units.duration(each.line_ns)} at that line"]
    if main_of(findings, each) is not None or each.cause in _WAITS:
        return line
    operators = operators_of(findings, each)
    named = by_name((one.row, one.typical_ns, one.signatures) for one in operators)
    named = [part for part in named if is_named(part.time_ns, each.time_ns * steps)]
    parts = [f"{part.name} {units.duration(part.time_ns / steps)}{part.shapes}" for part in named]
    return list(listed([*line, *parts[:_MOST_PARTS]]))


def short_text(findings: Findings, each: Diagnosis) -> str:
    """`501 short operators a step, one every 4.03 us`."""
    steps, calls = findings[Diagnoses].steps, 1 if each.short is None else each.short.calls
    every = units.duration(each.time_ns * steps / calls)
    return f"{round(calls / steps):,} short operators a {step_word(findings)}, one every {every}"
