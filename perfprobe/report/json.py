"""The report as a JSON document. Within a schema fields are only added; null is what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from perfprobe.report.ranking import range_sort, ranked
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.sources import Differences, Sources
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
        trace, hotspots, most = findings.trace, findings.hotspots, top or 0
        tables["hotspots"] = _operator_table(trace, hotspots, ranked(hotspots.rows, most, sort))
        tables["ranges"] = _range_table(trace, hotspots, ranked(hotspots.ranges, most, range_sort(sort)))
        tables["totals"] = [_totals(findings, hotspots)]
        losses = _losses(hotspots)
    if findings.sources is not None:
        tables["sources"] = [_sources(findings.sources)]
        tables["differences"] = _differences(findings.trace, findings.sources.differences)
    return {"schema": SCHEMA, "meta": dict(findings.trace.recording.meta), "losses": losses, "tables": tables}


def _operator_table(trace: Trace, hotspots: Hotspots, rows: HotspotRows) -> list[dict[str, Any]]:
    strings = trace.recording.strings
    total_ns = max(hotspots.totals.self_ns, 1)
    return [
        {
            "operator": _named(strings[value["name"]]),
            "overload": _named(strings[value["overload"]]),
            "signature": trace.signature(value["signature"]),
            **_common(trace, hotspots, value),
            "share": value["self_ns"] / total_ns,
        }
        for value in _values(hotspots, rows)
    ]


def _range_table(trace: Trace, hotspots: Hotspots, rows: HotspotRows) -> list[dict[str, Any]]:
    strings = trace.recording.strings
    return [
        {
            "name": _named(strings[value["name"]]),
            **_common(trace, hotspots, value),
        }
        for value in _values(hotspots, rows)
    ]


def _values(hotspots: Hotspots, rows: HotspotRows) -> Iterator[dict[str, Any]]:
    columns = {name: column.tolist() for name, column in rows.columns().items()}
    for at in range(len(rows)):
        value = {name: column[at] for name, column in columns.items()}
        yield {**value, "modules": _modules(hotspots, rows, at)}


def _common(trace: Trace, hotspots: Hotspots, value: Mapping[str, Any]) -> dict[str, Any]:
    """What operators and ranges both have."""
    return {
        **_place("", trace.line(value["frame"])),
        **_place("forward_", trace.line(value["forward_frame"])),
        "module": hotspots.module(value["module"]),
        "modules": value["modules"],
        "phase": Phase(value["phase"]).name.lower(),
        "calls": value["calls"],
        "self_ns": value["self_ns"],
        "total_ns": value["total_ns"],
        "mean_ns": value["total_ns"] / value["calls"],
        "cpu_ns": _measured(value["cpu_ns"]),
        "reason": _named(GAP_TEXTS[Gap(value["gap"])]),
    }


def _modules(hotspots: Hotspots, rows: HotspotRows, at: int) -> list[dict[str, Any]]:
    return [
        {"module": part.module, "calls": part.calls, "self_ns": part.self_ns}
        for part in hotspots.parts_of(rows, at)
    ]


def _totals(findings: Findings, hotspots: Hotspots) -> dict[str, Any]:
    return {
        "wall_ns": findings.wall_ns,
        "cpu_ns": findings.trace.cpu_ns,
        "complete": findings.trace.recording.complete,
        **asdict(hotspots.totals),
    }


def _sources(sources: Sources) -> dict[str, Any]:
    figures = {key: value for key, value in vars(sources).items() if key != "differences"}
    return {**figures, "unexplained": sources.unexplained}


def _differences(trace: Trace, differences: Differences) -> list[dict[str, Any]]:
    strings = trace.recording.strings
    columns = {name: column.tolist() for name, column in differences.columns().items()}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [
        {
            "kind": row["kind"],
            "operator": _named(strings[row["name"]]),
            "overload": _named(strings[row["overload"]]),
            "observer": _named(row["observer"]),
            "autograd": _named(row["autograd"]),
            "reason": _named(row["reason"]),
            "calls": row["count"],
        }
        for row in rows
    ]


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
