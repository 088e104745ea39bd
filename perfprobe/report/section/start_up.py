"""The table of start-up: the time before the first step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.start_up import StartUpRow, start_up_rows
from perfprobe.report.section.block import Block, Head, Heading, Section, Table
from perfprobe.report.section.heads import columns, figure, text
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
    yield Table(columns(_COLUMNS, rows))


def _what(row: StartUpRow) -> str:
    if row.part != "import":
        return _TEXTS.get(row.part or "", "other")
    module = printable(row.module or "a module")
    return f"import of {module}" if row.by is None else f"{printable(row.by)}() imported {module}"


def _line(row: StartUpRow) -> str:
    return "" if row.line is None else shorten.place(row.line)


_COLUMNS: tuple[Head[Sequence[StartUpRow]], ...] = (
    figure(
        "took", "Time it took before the first step.", lambda row: units.duration(row.time_ns), style="bold"
    ),
    text(
        "what",
        "The activity: an import, building models, compiling, the extra time of the first steps.",
        _what,
    ),
    text("line", "Line of the program.", _line, 1, style="cyan"),
)

START_UP = Section(
    "start-up",
    (StepTimes,),
    start_up,
    start_up_tables,
    titles=("Start-up",),
    guide="steps",
    means="Where the time before the first step went.",
    heads=_COLUMNS,
    json={
        "start_up": "The section *start-up*.",
    },
)
