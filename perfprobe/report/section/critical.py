"""The table of the critical path: what bounds it, and what removing each part could save at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.critical import CriticalRow, by_bound, critical_rows, path_row
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.gpu.cells import line_head, operator_head, phase_head, rows_said, sorted_by
from perfprobe.report.section.gpu.names import cut_middle, shortened
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.critical import CriticalPath
from perfprobe.tables.findings import Findings

TOP = 10
_BOUNDS = {
    "cpu": "operators on the host",
    "compute": "computing kernels",
    "communication": "communication",
    "copy": "copies",
    "kernel_gap": "between kernels",
    "launch": "launches",
    "python": "Python",
    "data": "data loading",
}


def critical_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`critical_path`, by bound and place, and `critical_length`, one row."""
    rows = critical_rows(findings, choice.top or 0).rows
    return {"critical_path": rows, "critical_length": [path_row(findings)]}


def critical(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table, and what bounds the path; nothing if the path is empty."""
    found = critical_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    path = findings[CriticalPath]
    said = rows_said(findings, found, sorted_by(choice, "stretches"))
    whole = f"{units.duration(path.length_ns)} of {units.duration(path.wall_ns)}"
    yield Heading("Critical path", f"{said}; {whole}{_steps(path)}")
    yield Table(columns(_COLUMNS, found.rows))
    parts = (f"{_BOUNDS[bound]} {units.percent(ns / path.length_ns)}" for bound, ns in by_bound(findings))
    yield Paragraph(f"Bound by {', '.join(parts)}.")
    yield Paragraph(
        "Removing a row saves at most its time: then another path is the longest. As HolisticTraceAnalysis "
        f"defines it, without Python between operators and other threads: {units.duration(path.hta_ns)}.",
        "dim",
    )


def _steps(path: CriticalPath) -> str:
    """Returns which steps the path covers: in a long recording not all."""
    number = "a steady step" if path.steps == 1 else f"{units.count(path.steps)} steady steps"
    if path.left_out == 0:
        return f" in {number}" if path.steps else ""
    if path.steps == 0:
        return f"; {units.count(path.left_out)} operators after it are not in the path"
    return f" in the first {path.steps:,} of {path.steady_steps:,} steady steps"


_COLUMNS: tuple[Head[Sequence[CriticalRow]], ...] = (
    figure("of path", "Share of the length of the path.", lambda row: units.percent(row.share), style="bold"),
    figure(
        "saves at most",
        "Time on the path. Removing it saves at most this much, because another path may then be the "
        "longest.",
        lambda row: units.duration(row.total_ns),
    ),
    figure(
        "a step",
        "Mean of this time over the steady steps.",
        lambda row: units.duration(row.step_ns),
        shown=lambda row: row.step_ns is not None,
    ),
    figure("stretches", "Number of stretches of the path.", lambda row: units.count(row.stretches), 3),
    figure("longest", "Duration of the longest stretch.", lambda row: units.duration(row.longest_ns), 7),
    text(
        "bound by",
        "operators on the host (with calls of CUDA), computing kernels, communication, copies, between "
        "kernels (of one stream), launches (from the start of the call to the start of its kernel), Python "
        "between operators, or data loading.",
        lambda row: _BOUNDS.get(row.bound or "", units.ABSENT),
        1,
        style="bold",
    ),
    text(
        "kernel or call",
        "Name of the kernel, or of the function of CUDA's API.",
        lambda row: units.ABSENT if row.name is None else shortened(row.name),
        5,
        least=12,
        wish=22,
        shorten=cut_middle,
    ),
    operator_head(
        "Innermost operator; for a kernel the operator that launched it.", lambda row: row.operator
    ),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at),
)

CRITICAL_PATH = Section(
    "critical-path",
    (CriticalPath,),
    critical,
    critical_tables,
    titles=("Critical path",),
    guide="critical-path",
    means="The longest chain of dependent work in steady steps, over threads and GPUs: what bounds it, at "
    "which line, and how much time removing each part could save at most.",
    heads=_COLUMNS,
    json={
        "critical_path": "The section *critical-path*: its stretches.",
        "critical_length": "The length of the critical path, and what it was computed from.",
    },
)
