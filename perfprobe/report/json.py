"""The report as a JSON document. Within a schema fields are only added; null is what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from perfprobe.report.children import child_table
from perfprobe.report.efficiency_columns import efficiency_fields, measured_rows
from perfprobe.report.json_functions import function_tables
from perfprobe.report.json_gpu import gpu_tables, range_table
from perfprobe.report.made_from import made_from_fields
from perfprobe.report.ranking import range_sort, ranked, sort_of
from perfprobe.report.source_text import SourceText
from perfprobe.support.text import printable
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Between, Findings, HotLines, HotspotRows, Hotspots
from perfprobe.tables.sources import Differences, Sources
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Phase, Trace

SCHEMA = 1
PHASES = ("forward_ns", "backward_ns", "recompute_ns", "other_ns")
MEASURED = tuple(name for name, column in HotspotRows.described.items() if column.optional)


def document(findings: Findings, *, top: int | None = None, sort: str = "self") -> dict[str, Any]:
    """All findings, ready for json.dumps: {"schema", "meta", "losses", "tables": {name: [{column: value}]}}.

    Args:
        top: rows of a table; None or 0 for all.
        sort: one of `support.view.SORTS`.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    sort = sort_of(findings, sort)
    tables = _measurement_table(findings)
    losses: list[dict[str, Any]] = []
    view: dict[str, Any] = {}
    if findings.hotspots is not None:
        trace, hotspots, most = findings.trace, findings.hotspots, top or 0
        tables["hotspots"] = _operator_table(findings, hotspots, ranked(hotspots.rows, most, sort))
        tables["ranges"] = _range_table(trace, hotspots, ranked(hotspots.ranges, most, range_sort(sort)))
        tables["totals"] = [_totals(findings, hotspots)]
        losses, view = _losses(hotspots), _view(hotspots)
        if findings.lines is not None:
            tables["lines"] = _line_table(findings, findings.lines, hotspots.totals.self_ns, most)
        if findings.between is not None:
            tables["between"] = _between_table(trace, findings.between, findings.wall_ns, most)
    if findings.sources is not None:
        tables["sources"] = [_sources(findings.sources)]
        tables["differences"] = _differences(findings.trace, findings.sources.differences)
    if findings.calling is not None:
        tables |= function_tables(findings, findings.calling, top or 0, sort)
    if findings.gpu is not None:
        tables |= gpu_tables(findings, findings.gpu, top or 0)
    if findings.named_ranges is not None:
        tables["named_ranges"] = range_table(findings, findings.named_ranges, top or 0)
    tables |= child_table(findings.children)
    meta = dict(findings.trace.recording.meta)
    return {"schema": SCHEMA, "meta": meta, "view": view, "losses": losses, "tables": tables}


def _operator_table(findings: Findings, hotspots: Hotspots, rows: HotspotRows) -> list[dict[str, Any]]:
    trace = findings.trace
    strings = trace.recording[Strings]
    total_ns = max(hotspots.totals.self_ns, 1)
    return [
        {
            "operator": _named(strings[value["name"]]),
            "overload": _named(strings[value["overload"]]),
            "signature": trace.signature(value["signature"]),
            **_common(trace, hotspots, value),
            "share": value["self_ns"] / total_ns,
            **made_from_fields(trace, value["name"]),
            **_contents(value),
            **efficiency_fields(measured),
        }
        for value, measured in zip(_values(hotspots, rows), measured_rows(findings, rows), strict=True)
    ]


def _measurement_table(findings: Findings) -> dict[str, list[dict[str, Any]]]:
    """None where nothing was measured."""
    measured = findings.measurements
    return {} if measured is None else {"measurements": [asdict(row) for row in measured.rows]}


def _range_table(trace: Trace, hotspots: Hotspots, rows: HotspotRows) -> list[dict[str, Any]]:
    strings = trace.recording[Strings]
    return [
        {
            "name": _named(strings[value["name"]]),
            **_common(trace, hotspots, value),
        }
        for value in _values(hotspots, rows)
    ]


def _values(hotspots: Hotspots, rows: HotspotRows) -> Iterator[dict[str, Any]]:
    for at, value in enumerate(_rows(rows)):
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
        **{name: _measured(value[name]) for name in MEASURED},
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
        "gpu_self_ns": _measured(hotspots.gpu_self_ns),
    }


def _line_table(findings: Findings, lines: HotLines, total_ns: int, most: int) -> list[dict[str, Any]]:
    trace, sources = findings.trace, SourceText(findings)
    strings = trace.recording[Strings]
    found = []
    for value in _rows(lines.take(slice(most or None))):
        line = trace.line(value["frame"])
        text = sources.text(line.file, line.line) if line else None
        found.append(
            {
                **_place("", line),
                "text": None if text is None else printable(text.expandtabs()),
                **{name: value[name] for name in ("calls", "self_ns", *PHASES)},
                "gpu_self_ns": _measured(value["gpu_self_ns"]),
                "share": value["self_ns"] / max(total_ns, 1),
                "operator": _named(strings[value["name"]]),
                "overload": _named(strings[value["overload"]]),
                "signature": trace.signature(value["signature"]),
                "reason": _named(GAP_TEXTS[Gap(value["gap"])]),
            }
        )
    return found


def _between_table(trace: Trace, found: Between, wall_ns: int | None, most: int) -> list[dict[str, Any]]:
    """The time until the first operator and after the last one are rows without a place."""
    outer = [("start", found.before_ns), ("end", found.after_ns)]
    rows: list[dict[str, Any]] = [
        {
            "kind": kind,
            "frame": -1,
            "to_frame": -1,
            "caller": -1,
            "count": 1,
            "total_ns": ns,
            "longest_ns": ns,
        }
        for kind, ns in outer
        if ns is not None
    ]
    rows += [{"kind": "between", **value} for value in _rows(found.rows.take(slice(most or None)))]
    return [
        {
            "kind": row["kind"],
            **_place("", trace.line(row["frame"])),
            **_place("to_", trace.line(row["to_frame"])),
            **_place("caller_", trace.line(row["caller"])),
            "count": row["count"],
            "total_ns": row["total_ns"],
            "mean_ns": row["total_ns"] / row["count"],
            "longest_ns": row["longest_ns"],
            "share": row["total_ns"] / wall_ns if wall_ns else None,
        }
        for row in rows
    ]


def _sources(sources: Sources) -> dict[str, Any]:
    figures = {key: value for key, value in vars(sources).items() if key != "differences"}
    return {**figures, "unexplained": sources.unexplained}


def _differences(trace: Trace, differences: Differences) -> list[dict[str, Any]]:
    strings = trace.recording[Strings]
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
        for row in _rows(differences)
    ]


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    columns = {name: column.tolist() for name, column in table.columns().items()}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


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
