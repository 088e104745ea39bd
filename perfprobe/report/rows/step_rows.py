"""Rows of operators in the steps, with shares of the step."""

from __future__ import annotations

from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.rows.ranking import ranked
from perfprobe.tables.columns import Mask, Rows
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.step_rows import StepHotspots


def in_steps(findings: Findings) -> HotspotRows:
    """The operators of the leading loop's steps, most time first."""
    return findings.once(in_steps, lambda: ranked(findings[StepHotspots].hotspots.rows, 0, "self"))


def step_operators(findings: Findings, chosen: Rows | Mask | slice) -> list[OperatorRow]:
    """Some of `in_steps` as rows of a report; shares are of the steps' own time.

    A row takes 50 us, and there may be thousands of them: choose first.
    """
    found = findings[StepHotspots]
    rows = in_steps(findings).take(chosen)
    return rows_of(findings.plus(found.hotspots), rows, [found.share(ns) for ns in rows.typical_ns.tolist()])
