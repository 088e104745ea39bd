"""Rows of operators in the steps, with shares of the step."""

from __future__ import annotations

from dataclasses import replace

from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.rows.ranking import ranked
from perfprobe.tables.columns import Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.step_rows import StepHotspots


def step_operators(findings: Findings, top: int, chosen: Mask | None = None) -> list[OperatorRow]:
    """The first `top` operators of the leading loop's steps, 0 for all; shares are of the steps' own time.

    chosen: only these of the table's rows.
    """
    found = findings[StepHotspots]
    within, rows_found = findings.plus(found.hotspots), found.hotspots.rows
    of = rows_found if chosen is None else rows_found.take(chosen)
    rows = rows_of(within, ranked(of, top, "self"))
    return [replace(row, share=found.share(row.ran.typical_ns)) for row in rows]
