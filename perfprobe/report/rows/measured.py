"""What `perfprobe bench` measured for the calls of a row."""

from __future__ import annotations

from perfprobe.tables.callgraph import GraphOperators
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.measurements import Bound, Measurement, Measurements
from perfprobe.tables.strings import Strings


def measurements_of(findings: Findings, rows: HotspotRows | GraphOperators) -> list[Measurement | None]:
    """The measurement of each row's operator and inputs, None if there is none."""
    measured = findings.get(Measurements)
    if measured is None:
        return [None] * len(rows)
    known = {(row.wanted.operator, row.wanted.signature): row for row in measured.rows}
    strings = findings.trace.recording[Strings]
    found = []
    keys = (rows.name, rows.overload, rows.signature)
    for name, overload, signature in zip(*(column.tolist() for column in keys), strict=True):
        operator = ".".join(part for part in (strings[name], strings[overload]) if part)
        found.append(known.get((operator, findings.trace.signature(signature) or "")))
    return found


def limit(measured: Measurement) -> Bound | None:
    """The limit that the call comes nearest to."""
    bounds = [bound for bound in measured.bounds if bound.kind != "overhead"]
    return max(bounds, key=lambda bound: bound.fraction.value, default=None)
