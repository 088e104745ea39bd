"""The line about torch.compile on the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import at_most, whole_percent
from perfprobe.report.section.screen.steps import step_word
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Base, Cause, Diagnoses, Diagnosis
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recompiled
from perfprobe.tables.steps import StepTimes


def recompiled_line(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: the function that was compiled again and again, and the guard that failed last."""
    found, judged = findings.get(Recompiled), findings.get(Diagnoses)
    slow = None if judged is None else judged.slow
    if found is None or (slow is not None and is_in_left_out_steps(slow)):
        return
    function = found.function
    took = "" if function.time_ns is None else f"; {units.duration(function.time_ns)}"
    facts: dict[str, Any] = {"time_ns": function.time_ns, "line": function.line}
    yield said("ALSO", _often(found), _guard(found), took, style="yellow", **facts)


def is_in_left_out_steps(each: Diagnosis) -> bool:
    """Whether it is about torch.compile in steps that averages leave out."""
    return each.cause is Cause.COMPILE and each.base is Base.LOOP


def compiling_lines(findings: Findings, first: Diagnosis) -> Iterator[ScreenRow]:
    """SLOW for steps in which torch.compile was at work, and the function that it compiled."""
    word, found = step_word(findings), findings.get(Recompiled)
    whole = int((findings[StepTimes].steps.loop == 0).sum())
    much = f"{units.duration(first.time_ns)} = {whole_percent(first.share)} of the loop"
    facts: dict[str, Any] = {"time_ns": first.time_ns, "share": first.share, "style": "bold"}
    text = f"torch.compile in {first.steps:,} of {whole:,} {word}s, {much}"
    yield said("SLOW", text, "; averages leave them out", **facts)
    if found is not None:
        yield said("", _often(found), _guard(found), line=found.function.line)
    if first.gain is not None:
        yield said("GAIN", f"{at_most(first.gain)}, if it compiled once", share=first.share)


def _often(found: Recompiled) -> str:
    function = found.function
    often = f"{function.number:,} times{' or more' if found.is_cut else ''}"
    return f"{printable(function.line.function)} compiled {often}, {place(function.line)}"


def _guard(found: Recompiled) -> str:
    guard = found.function.guard
    return f": last because {printable(guard)} failed" if guard else ""
