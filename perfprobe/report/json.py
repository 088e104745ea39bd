"""The report as a JSON document. Within a schema fields are only added; null is what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from perfprobe.report.ranking import range_sort, ranked
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Phase, Trace

SCHEMA = 1
MEASURED = ("cpu_ns", "allocated_bytes", "freed_bytes", "autograd_ns", "autograd_self_ns")


def document(findings: Findings, *, top: int | None = None, sort: str = "self") -> dict[str, Any]:
    """All findings, ready for json.dumps: {"schema", "meta", "losses", "tables": {name: [{column: value}]}}.

    Args:
        top: rows of a table; None or 0 for all.
        sort: one of `support.view.SORTS`.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    losses: list[dict[str, Any]] = []
    view: dict[str, Any] = {}
    if findings.hotspots is not None:
        trace, hotspots, most = findings.trace, findings.hotspots, top or 0
        tables["hotspots"] = _operator_table(trace, hotspots, ranked(hotspots.rows, most, sort))
        tables["ranges"] = _range_table(trace, hotspots, ranked(hotspots.ranges, most, range_sort(sort)))
        tables["totals"] = [_totals(findings, hotspots)]
        losses, view = _losses(hotspots), _view(hotspots)
    meta = dict(findings.trace.recording.meta)
    return {"schema": SCHEMA, "meta": meta, "view": view, "losses": losses, "tables": tables}


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
            **_contents(value),
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
    comparable = value["name"] >= 0  # not all that ran on a line or in a module
    return {
        **_place("", trace.line(value["frame"])),
        **_place("forward_", trace.line(value["forward_frame"])),
        "module": hotspots.module(value["module"]),
        "modules": value["modules"],
        "phase": Phase(value["phase"]).name.lower() if value["phase"] >= 0 else None,
        "calls": value["calls"],
        "self_ns": value["self_ns"],
        "total_ns": value["total_ns"],
        "mean_ns": value["total_ns"] / value["calls"],
        **{name: value[name] if comparable else None for name in ("median_ns", "p95_ns", "long_calls")},
        "quantile_error": value["quantile_error_ppm"] / 1e6 if comparable else None,
        **{name: _measured(value[name]) for name in (*MEASURED, "flops")},
        "reason": _named(GAP_TEXTS[Gap(value["gap"])]),
    }


def _modules(hotspots: Hotspots, rows: HotspotRows, at: int) -> list[dict[str, Any]]:
    return [
        {"module": part.module, "calls": part.calls, "self_ns": part.self_ns}
        for part in hotspots.parts_of(rows, at)
    ]


def _contents(value: Mapping[str, Any]) -> dict[str, Any]:
    """What a row of operators is made of."""
    return {
        "operators": value["operators"],
        "signatures": value["signatures"],
        "lines": value["lines"],
        "forward_ns": value["forward_ns"],
        "backward_ns": value["backward_ns"],
        "recompute_ns": value["recompute_ns"],
    }


def _view(hotspots: Hotspots) -> dict[str, Any]:
    """What the rows are, and how many there are without the focus."""
    return {
        "group": hotspots.group,
        "focus": hotspots.focus,
        "whole_rows": hotspots.whole_rows,
        "whole_ranges": hotspots.whole_ranges,
    }


def _totals(findings: Findings, hotspots: Hotspots) -> dict[str, Any]:
    return {
        "wall_ns": findings.wall_ns,
        "cpu_ns": findings.trace.cpu_ns,
        "complete": findings.trace.recording.complete,
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
