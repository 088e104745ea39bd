"""The table of ranges: parts of the program that it, or torch, gave a name to (record_function)."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from perfprobe.report import columns
from perfprobe.report.base import Layout
from perfprobe.report.cells import counts, cpu_column, duration_columns, durations, least_ns, line_column
from perfprobe.report.columns import Column
from perfprobe.report.paragraph import heading
from perfprobe.report.ranking import focus_note, range_sort, ranked, rows_shown
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.trace import Trace

TOP = 5  # they are landmarks beside the operators, and one name a step would make thousands


def ranges(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table; nothing where there were no ranges."""
    hotspots = findings.hotspots
    assert hotspots is not None
    if len(hotspots.ranges) == 0:
        return
    sort = range_sort(layout.sort)
    shown = ranked(hotspots.ranges, layout.most(TOP), sort)
    more = f"(record_function), {rows_shown(hotspots.ranges, shown, sort)}{focus_note(hotspots)}"
    yield heading("Ranges", more, layout.width)
    yield columns.table(columns.fit(_columns(findings.trace, shown), layout.width))


def _columns(trace: Trace, shown: HotspotRows) -> list[Column]:
    strings = trace.recording.strings
    names = [printable(strings[name]) if name >= 0 else "(unknown)" for name in shown.name.tolist()]
    return [
        Column("total", durations(shown.total_ns, least_ns(trace) * shown.calls), align="right"),
        Column("calls", counts(shown.calls), 2, align="right"),
        *duration_columns(trace, shown),
        *([cpu_column(shown)] if bool((shown.cpu_ns >= 0).any()) else []),
        Column("name", names, least=12, wish=32, style="bold"),
        line_column(trace, shown, function=12),
    ]
