"""The report as a JSON document. Within a schema fields are only added; null is what was not measured."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from perfprobe.report.ranking import ranked
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Phase, Trace

SCHEMA = 1


def document(findings: Findings, *, top: int | None = None, sort: str = "self") -> dict[str, Any]:
    """All findings, ready for json.dumps: {"schema", "meta", "losses", "tables": {name: [{column: value}]}}.

    Args:
        top: rows of a table; None or 0 for all.
        sort: "self", "total", "calls" or "mean".

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    losses: list[dict[str, Any]] = []
    if findings.hotspots is not None:
        tables["hotspots"] = _hotspots(
            findings.trace, findings.hotspots, ranked(findings.hotspots.rows, top or 0, sort)
        )
        tables["totals"] = [_totals(findings.trace, findings.hotspots)]
        losses = _losses(findings.hotspots)
    return {"schema": SCHEMA, "meta": dict(findings.trace.recording.meta), "losses": losses, "tables": tables}


def _hotspots(trace: Trace, hotspots: Hotspots, rows: HotspotRows) -> list[dict[str, Any]]:
    strings = trace.recording.strings
    total_ns = max(hotspots.totals.self_ns, 1)
    columns = {name: column.tolist() for name, column in rows.columns().items()}
    documents = []
    for row, is_range in enumerate(rows.is_range.tolist()):
        value = {name: column[row] for name, column in columns.items()}
        own, forward = trace.line(value["frame"]), trace.line(value["forward_frame"])
        documents.append(
            {
                "operator": _named(strings[value["name"]]),
                "overload": _named(strings[value["overload"]]),
                "signature": trace.signature(value["signature"]),
                **_place("", own),
                **_place("forward_", forward),
                "module": hotspots.module(value["module"]),
                "phase": Phase(value["phase"]).name.lower(),
                "calls": value["calls"],
                "self_ns": value["self_ns"],
                "total_ns": value["total_ns"],
                "mean_ns": value["total_ns"] / value["calls"],
                "cpu_ns": _measured(value["cpu_ns"]),
                "share": None if is_range else value["self_ns"] / total_ns,
                "reason": _named(GAP_TEXTS[Gap(value["gap"])]),
            }
        )
    return documents


def _totals(trace: Trace, hotspots: Hotspots) -> dict[str, Any]:
    return {
        "wall_ns": trace.wall_ns,
        "cpu_ns": trace.cpu_ns,
        "complete": trace.recording.complete,
        **asdict(hotspots.totals),
    }


def _losses(hotspots: Hotspots) -> list[dict[str, Any]]:
    columns = hotspots.losses.columns()
    return [
        {
            "source": source,
            "reason": reason,
            "count": _measured(count),
            "remedy": _named(remedy),
        }
        for source, reason, count, remedy in zip(
            *(column.tolist() for column in columns.values()), strict=True
        )
    ]


def _place(prefix: str, line: Line | None) -> dict[str, Any]:
    return {
        f"{prefix}file": line.file if line else None,
        f"{prefix}line": line.line if line else None,
        f"{prefix}function": line.function if line else None,
    }


def _named(text: str) -> str | None:
    return text or None


def _measured(value: int) -> int | None:
    return value if value >= 0 else None
