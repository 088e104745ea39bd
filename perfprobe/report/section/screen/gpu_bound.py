"""SLOW for a program that the GPU limits: the operators with most time on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.rows.ranking import ranked
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import first_line, inputs, operator, whole_percent
from perfprobe.report.section.screen.steps import step_word
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.tables.diagnoses import Cause, Diagnoses
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.step_rows import StepHotspots


def is_gpu_bound(findings: Findings) -> bool:
    """Whether what the busiest GPU computed limits the program, and which operator launched it is known."""
    found = findings.get(Diagnoses)
    return found is not None and bool(found.of(Cause.GPU_OPERATOR))


def gpu_operators(findings: Findings, most: int) -> list[OperatorRow]:
    """The `most` operators with most time on GPUs, 0 for all; shares are of that time.

    If there are steps, only their operators count.
    """
    steps = findings.get(StepHotspots)
    hotspots = findings[Hotspots] if steps is None else steps.hotspots
    rows = rows_of(findings.plus(hotspots), ranked(hotspots.rows, most, "gpu"))
    whole_ns = max(hotspots.gpu_self_ns, 1)
    return [replace(row, share=(row.ran.recorded["gpu_self_ns"] or 0) / whole_ns) for row in rows]


def gpu_bound_lines(findings: Findings) -> Iterator[ScreenRow]:
    """The lines SLOW and THEN; of each operator the time in a step, if there are steps."""
    found = [each for each in findings[Diagnoses].of(Cause.GPU_OPERATOR) if each.stands_out]
    steps = findings.get(StepHotspots)
    hotspots = findings[Hotspots] if steps is None else steps.hotspots
    rows = rows_of(findings.plus(hotspots), hotspots.rows.take(np.array([each.row for each in found])))
    for label, each, row in zip(("SLOW", "THEN"), found, rows, strict=False):
        line = row.ran.origin
        of_step = "" if steps is None else f" a {step_word(findings)}"
        how_much = f"{units.duration(each.time_ns)}{of_step} = {whole_percent(each.share)} of GPU time"
        at = () if line is None else (f": {place(line)}", first_line(line))
        facts: dict[str, Any] = {"time_ns": each.time_ns, "share": each.share, "line": line}
        style = "bold" if label == "SLOW" else ""
        yield said(label, f"{operator(row)}, {how_much}", *at, inputs(row, ", "), style=style, **facts)
