"""SLOW for a program that the GPU limits: the operators with most time on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from perfprobe.report.rows.gpu.devices import device_rows
from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.rows.ranking import ranked
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.gpu.verdict import Use, is_limit
from perfprobe.report.section.screen.places import first_line, inputs, operator, whole_percent
from perfprobe.report.section.screen.steps import is_inference
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.once import once
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes

_WORTH_NAMING = 0.05  # an operator is named from this share of the GPU's time on


@once
def is_gpu_bound(findings: Findings) -> bool:
    """Whether what the busiest GPU computed limits the program, and which operator launched it is known."""
    gpu, wall_ns, hotspots = findings.get(GpuFindings), findings.wall_ns, findings.get(Hotspots)
    if gpu is None or not wall_ns or hotspots is None or hotspots.gpu_self_ns <= 0:
        return False
    rows = [row for row in device_rows(findings) if row.busy_ns is not None]
    busiest = max(rows, key=lambda row: row.busy_ns or 0, default=None)
    return busiest is not None and is_limit(gpu, Use.of(busiest), wall_ns)


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
    for label, row in zip(("SLOW", "THEN"), gpu_operators(findings, 2), strict=False):
        if row.share < _WORTH_NAMING:
            return
        line, time_ns = row.ran.origin, row.ran.recorded["gpu_self_ns"]
        time_ns, each = _each_step(findings, time_ns or 0)
        how_much = f"{units.duration(time_ns)}{each} = {whole_percent(row.share)} of GPU time"
        at = () if line is None else (f": {place(line)}", first_line(line))
        facts: dict[str, Any] = {"time_ns": time_ns, "share": row.share, "line": line}
        style = "bold" if label == "SLOW" else ""
        yield said(label, f"{operator(row)}, {how_much}", *at, inputs(row, ", "), style=style, **facts)


def _each_step(findings: Findings, time_ns: int) -> tuple[int, str]:
    """The mean time in a step and ` a step`, or ` a call`; without steps the time and ""."""
    found = findings.get(StepHotspots)
    if found is None:
        return time_ns, ""
    return time_ns // max(found.steps, 1), " a call" if is_inference(findings[StepTimes]) else " a step"
