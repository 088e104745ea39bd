"""The one line for someone in a hurry: the hottest operator, whole, whatever the width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import RenderableType

from perfprobe.report import shorten
from perfprobe.report.base import Layout
from perfprobe.report.cells import line_column
from perfprobe.report.operator_columns import PHASES, operators, signatures
from perfprobe.report.paragraph import paragraph
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Phase

LONGEST = 160  # cells of the inputs


def hottest(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """Operator, inputs, line, phase and share of the first row; only of a whole table of full rows."""
    hotspots = findings.hotspots
    if hotspots is None or hotspots.group != "row" or hotspots.focus is not None or len(hotspots.rows) == 0:
        return
    row = hotspots.rows.take(slice(1))
    (operator,), (inputs,) = operators(findings.trace, row, narrow=True), signatures(findings.trace, row)
    told = shorten.cut(shorten.signature(inputs), LONGEST)
    share = units.percent(int(row.self_ns[0]) / max(hotspots.totals.self_ns, 1))
    phase = PHASES[Phase(int(row.phase[0]))]
    (place,) = line_column(findings.trace, replace(row, forward_frame=row.frame)).cells
    text = f"Hottest: {operator} {told}, {place}, {phase}: {share} of operator time."
    yield paragraph(text, layout.width, "bold")
