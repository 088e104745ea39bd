"""The row of totals: duration of the program, and sums over all operators."""

from __future__ import annotations

from perfprobe.report.rows.row import inline, measured
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings, Hotspots, Totals


@frozen
class TotalsRow:
    """Totals. cpu_ns: CPU time of the whole process. complete: whether the recording has an end."""

    wall_ns: int | None
    cpu_ns: int | None
    complete: bool
    totals: Totals = inline()
    gpu_self_ns: int | None = None


def totals_row(findings: Findings) -> TotalsRow:
    """The only row."""
    trace, hotspots = findings.trace, findings[Hotspots]
    return TotalsRow(
        findings.wall_ns,
        trace.cpu_ns,
        trace.recording.complete,
        hotspots.totals,
        measured(hotspots.gpu_self_ns),
    )
