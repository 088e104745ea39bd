"""The one line for someone in a hurry: the hottest operator, whole, whatever the width."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from perfprobe.report import shorten
from perfprobe.report.base import Layout
from perfprobe.report.operator_columns import PHASES, operators, signatures
from perfprobe.report.paragraph import paragraph
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import GAP_TEXTS, Gap, Phase, Trace

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
    place = _place(findings.trace, int(row.frame[0]), Gap(int(row.gap[0])))
    text = f"Hottest: {operator} {told}, {place}, {phase}: {share} of operator time."
    yield paragraph(text, layout.width, "bold")


def _place(trace: Trace, frame: int, gap: Gap) -> str:
    line = trace.line(frame)
    if line is None:
        return f"({GAP_TEXTS[gap]})"
    file = printable(line.file)
    return f"{shorten.file_names([file])[file]}:{line.line} in {printable(line.function)}"
