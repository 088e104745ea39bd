"""Rows of the time between operators, by where in the program it passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfprobe.report.rows.row import place, values
from perfprobe.tables.findings import Between, Findings
from perfprobe.tables.trace import Line


@dataclass(frozen=True, kw_only=True)
class IntervalRow:
    """kind: `between`, or `start` and `end` of the time before the first operator and after the last one.

    line, to: where the function that both operators ran in was before and after; caller: who called it.
    """

    kind: str
    line: Line | None = place()
    to: Line | None = place("to_")
    caller: Line | None = place("caller_")
    count: int
    total_ns: int
    mean_ns: float
    longest_ns: int
    share: float | None


def interval_rows(findings: Findings, top: int) -> list[IntervalRow]:
    """Start and end as far as they are known, and the `top` longest sums between operators, 0 for all."""
    found = findings[Between]
    outer = {"start": found.before_ns, "end": found.after_ns}
    none = dict.fromkeys(("frame", "to_frame", "caller"), -1)
    rows = [
        _row(findings, kind, {**none, "count": 1, "total_ns": time_ns, "longest_ns": time_ns})
        for kind, time_ns in outer.items()
        if time_ns is not None
    ]
    between = values(found.rows.take(slice(top or None)))
    return [*rows, *(_row(findings, "between", value) for value in between)]


def _row(findings: Findings, kind: str, value: dict[str, Any]) -> IntervalRow:
    trace, wall_ns = findings.trace, findings.wall_ns
    return IntervalRow(
        kind=kind,
        line=trace.line(value["frame"]),
        to=trace.line(value["to_frame"]),
        caller=trace.line(value["caller"]),
        count=value["count"],
        total_ns=value["total_ns"],
        mean_ns=value["total_ns"] / value["count"],
        longest_ns=value["longest_ns"],
        share=value["total_ns"] / wall_ns if wall_ns else None,
    )
