"""The table of start-up: the time before the first step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.start_up import StartUpRow, start_up_rows
from perfprobe.report.section.block import Block, Column, Heading, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepTimes

_TOP = 6
_LEAST_NS = 50_000_000  # shorter rows are left out
_NOTEWORTHY_NS = 500_000_000  # a shorter start-up has no table
_TEXTS = {
    "model": "building models",
    "compile": "compiling",
    "warm_up": "first steps, beyond the median",
    "waiting": "waiting",
    "idle": "waiting for the first request",
    "children": "waiting for child processes",
    "other": "other",
}


def start_up_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`start_up`."""
    return {"start_up": start_up_rows(findings)}


def start_up(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The parts that took long; nothing without steps, or with a short start-up."""
    found = findings[StepTimes]
    if len(found.loops) == 0 or (found.start_up_ns or 0) < _NOTEWORTHY_NS:
        return
    rows = [row for row in start_up_rows(findings) if row.time_ns >= _LEAST_NS][: choice.most(_TOP)]
    until = units.duration(found.start_up_ns)
    yield Heading("Start-up", f"{until} until the first step; not part of any step")
    yield Table(
        [
            figures("took", (units.duration(row.time_ns) for row in rows), style="bold"),
            Column("what", [_what(row) for row in rows]),
            Column("line", [_line(row) for row in rows], 1, style="cyan"),
        ]
    )


def _what(row: StartUpRow) -> str:
    if row.part != "import":
        return _TEXTS.get(row.part or "", "other")
    module = printable(row.module or "a module")
    return f"import of {module}" if row.by is None else f"{printable(row.by)}() imported {module}"


def _line(row: StartUpRow) -> str:
    return "" if row.line is None else shorten.place(row.line)
