"""Rows of the time outside of the steps: before the first one, and after it."""

from __future__ import annotations

from dataclasses import replace

from perfprobe.models.imports import imported
from perfprobe.report.rows.row import place, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StartUp, StartUpPart
from perfprobe.tables.trace import Line


@frozen(kw_only=True)
class StartUpRow:
    """A part of start-up, or of the time after it. module: for an import the package, None if not seen.

    by: the function that led to the import. line: the program's line with most of the time.
    """

    part: str | None
    module: str | None
    by: str | None
    line: Line | None = place()
    time_ns: int


def start_up_rows(findings: Findings, rows: StartUp) -> list[StartUpRow]:
    """The parts, most time first. Imports of one package by one function are one row."""
    trace = findings.trace
    found: dict[tuple[str | None, str | None, str | None], StartUpRow] = {}
    for value in values(rows):
        module = by = None
        if value["importer"] >= 0 and trace.python is not None:
            module, by = imported(trace, trace.python, value["importer"], value["body"])
        row = StartUpRow(
            part=word(StartUpPart, value["kind"]),
            module=module,
            by=by,
            line=trace.line(value["frame"]),
            time_ns=value["time_ns"],
        )
        known = found.get((row.part, module, by))
        found[row.part, module, by] = (
            row if known is None else replace(known, time_ns=known.time_ns + row.time_ns)
        )
    return sorted(found.values(), key=lambda row: -row.time_ns)
