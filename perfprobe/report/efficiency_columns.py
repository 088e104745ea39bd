"""What the table of operators, as text and as JSON, says of rows whose calls were measured."""

from __future__ import annotations

from typing import Any

from perfprobe.report.columns import Column
from perfprobe.report.efficiency_cells import STYLES, limit, of_limit, verdict_kind
from perfprobe.support import units
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.measurements import Measurement
from perfprobe.tables.strings import Strings


def measured_rows(findings: Findings, shown: HotspotRows) -> list[Measurement | None]:
    """The measurement of each row's operator and inputs; None where there is none."""
    if findings.measurements is None:
        return [None] * len(shown)
    known = {(row.wanted.operator, row.wanted.signature): row for row in findings.measurements.rows}
    strings = findings.trace.recording[Strings]
    found = []
    for name, overload, signature in zip(*(column.tolist() for column in _keys(shown)), strict=True):
        operator = ".".join(part for part in (strings[name], strings[overload]) if part)
        found.append(known.get((operator, findings.trace.signature(signature) or "")))
    return found


def efficiency_columns(findings: Findings, shown: HotspotRows) -> list[Column]:
    """Of its limit, and the verdict; none where nothing of what is shown was measured."""
    measured = measured_rows(findings, shown)
    if not any(measured):
        return []
    kinds = [units.ABSENT if row is None else verdict_kind(row) for row in measured]
    parts = [units.ABSENT if row is None else of_limit(row) for row in measured]
    return [
        Column("of limit", parts, 3, align="right"),
        Column("verdict", kinds, 3, styles=[STYLES.get(kind, "") for kind in kinds]),
    ]


def efficiency_fields(measured: Measurement | None) -> dict[str, Any]:
    """The same for JSON: null where nothing was measured."""
    bound = None if measured is None else limit(measured)
    verdict = None if measured is None else measured.verdict
    return {
        "of_limit": None if bound is None else bound.fraction.value,
        "limit": None if bound is None else bound.kind,
        "verdict": None if verdict is None else verdict.kind,
    }


def _keys(shown: HotspotRows) -> tuple[Any, Any, Any]:
    return shown.name, shown.overload, shown.signature
