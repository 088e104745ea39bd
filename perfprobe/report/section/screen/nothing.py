"""Steps in which nothing stands out: the largest row, and what was checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.models.left_out import how_to_see_functions
from perfprobe.models.nodes import ENGINE
from perfprobe.models.seen import has_samples, has_shapes, knows_python
from perfprobe.models.waiting import waited_ns
from perfprobe.report import shorten
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.rows.step_rows import step_operators
from perfprobe.report.section.screen.device import judged_by_gpu, largest_work
from perfprobe.report.section.screen.places import operator, whole_percent
from perfprobe.report.shorten import place
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Blind
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes

_LONGEST = 24  # cells of an operator's name


def nothing(findings: Findings) -> ScreenRow:
    """SLOW if nothing stands out: the largest row."""
    if judged_by_gpu(findings):
        text, known = largest_work(findings)
        return said("SLOW", "nothing stands out", text, style="bold", **known)
    rows = step_operators(findings, 0) if findings.get(StepHotspots) is not None else []
    rows = [row for row in rows if not (row.operator or "").startswith(ENGINE)]
    largest, facts = "", dict[str, Any]()
    if rows:
        line = rows[0].ran.origin
        at = "" if line is None else f" {place(line)}"
        named = shorten.cut(operator(rows[0]), _LONGEST)
        largest = f"; largest row {named}{at}, {whole_percent(rows[0].share)}"
        facts = {"share": rows[0].share, "line": line}
    return said("SLOW", "nothing stands out", largest, style="bold", **facts)


def checked_lines(findings: Findings) -> Iterator[ScreenRow]:
    """For steps in which nothing stands out: what was checked, what was not, and what would be too small."""
    yield said("CHECKED", ", ".join(_checked(findings)))
    unknown = list(_unknown(findings))
    if unknown:
        yield said("UNKNOWN", *listed(unknown, between="; "))
    blind = findings.get(Blind)
    if blind is not None:
        text = f"gains below {whole_percent(blind.share)} cannot be seen in these steps"
        yield said("BLIND", text, share=blind.share)


def _checked(findings: Findings) -> Iterator[str]:
    recording = findings.trace.recording
    yield from ("data waits", "operators")
    if has_samples(recording):
        yield from ("lines", "logging", "saving")
    if waited_ns(recording) is not None:
        yield "cores"
    if findings[StepTimes].start_up_ns is not None:
        yield "start-up"


def _unknown(findings: Findings) -> Iterator[str]:
    recording = findings.trace.recording
    is_trace = recording.is_trace
    if not (knows_python(recording) if is_trace else has_samples(recording)):
        yield f"lines, logging, saving ({option_for_lines(findings)})"
    if recording.fact("recording", "memory") is not True:
        yield f"memory ({'profile_memory=True' if is_trace else '--memory'})"
    if Measurements not in findings:
        how = "perfprobe bench, 3 min" if has_shapes(recording) else "record_shapes=True"
        yield f"operator limits ({how})"


def option_for_lines(findings: Findings) -> str:
    """What records lines of Python."""
    return how_to_see_functions(findings.trace.recording)
