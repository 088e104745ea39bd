"""The report as a JSON document. Within a schema fields are only added; null is what was not measured."""

from __future__ import annotations

from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.losses import loss_rows
from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.rows.row import plain
from perfprobe.report.section.listed import PEER_SECTIONS, SECTIONS
from perfprobe.report.section.screen.screen import screen_tables
from perfprobe.tables.findings import Findings, Hotspots

SCHEMA = 1
# The order of tables in earlier documents. Tables that are not named here come last.
_ORDER = (
    "first_screen",
    *("measurements", "hotspots", "ranges", "totals", "lines", "between", "sources", "differences"),
    *("python", "functions", "calls", "threads", "imports"),
    *("gpu", "devices", "kernels", "copies", "gpu_waits", "api_calls", "steps", "named_ranges"),
    *("modules", "library_lines"),
    *("processors", "thread_times", "processor_windows"),
    *("loops", "phases", "start_up"),
)


def document(
    findings: Findings,
    *,
    top: int | None = None,
    sort: str = "self",
    screen: Findings | None = None,
) -> dict[str, Any]:
    """All findings, ready for json.dumps: {"schema", "meta", "losses", "tables": {name: [{column: value}]}}.

    Args:
        top: rows of a table; None or 0 for all.
        sort: one of `support.view.SORTS`.
        screen: the rows of the first screen, None for no such table.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    choice = Choice(top, sort_of(findings, sort), peer_sort=sort)
    found: dict[str, Any] = {} if screen is None else screen_tables(screen, choice)
    for section in (*SECTIONS, *PEER_SECTIONS):
        if all(kind in findings for kind in section.requires):
            found |= section.tables(findings, choice)
    names = sorted(found, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return {
        "schema": SCHEMA,
        "meta": dict(findings.trace.recording.meta),
        "view": _view(findings),
        "losses": [plain(row) for row in loss_rows(findings)] if Hotspots in findings else [],
        "tables": {name: [plain(row) for row in found[name]] for name in names},
    }


def _view(findings: Findings) -> dict[str, Any]:
    """How the rows of operators are grouped, and how many there are without the focus."""
    hotspots = findings.get(Hotspots)
    names = () if hotspots is None else ("group", "focus", "whole_rows", "whole_ranges")
    return {name: getattr(hotspots, name) for name in names}
