"""The table of the critical path: what bounds it, and what removing each part could save at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.critical import CriticalRow, by_bound, critical_rows, path_row
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import operator_column, rows_said, site_columns, sorted_by
from perfprobe.report.section.gpu.names import cut_middle, shortened
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
    yield Table(_columns(found.rows))
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


def _columns(rows: Sequence[CriticalRow]) -> list[Column]:
    names = [units.ABSENT if row.name is None else shortened(row.name) for row in rows]
    a_step = figures("a step", (units.duration(row.step_ns) for row in rows))
    return [
        figures("of path", (units.percent(row.share) for row in rows), style="bold"),
        figures("saves at most", (units.duration(row.total_ns) for row in rows)),
        *([a_step] if any(row.step_ns is not None for row in rows) else []),
        figures("stretches", (units.count(row.stretches) for row in rows), 3),
        figures("longest", (units.duration(row.longest_ns) for row in rows), 7),
        Column("bound by", [_BOUNDS.get(row.bound or "", units.ABSENT) for row in rows], 1, style="bold"),
        Column("kernel or call", names, 5, least=12, wish=22, shorten=cut_middle),
        operator_column([(row.operator, None) for row in rows]),
        *site_columns([row.at for row in rows]),
    ]
