"""The tables of what is outside of the steps: start-up, and what came later."""

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
from perfprobe.tables.steps import StartUp, StepTimes

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
    """`start_up` and `after_steps`."""
    found = findings[StepTimes]
    tables: dict[str, Sequence[Any]] = {"start_up": start_up_rows(findings, found.start_up)}
    after = start_up_rows(findings, found.after)
    return tables | ({"after_steps": after} if after else {})


def start_up(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The parts that took long; nothing without steps, or where all of it is short."""
    found = findings[StepTimes]
    if len(found.loops) == 0:
        return
    until = f"{units.duration(found.start_up_ns)} until the first step; not part of any step"
    yield from _table(findings, choice, found.start_up, found.start_up_ns or 0, "Start-up", until)
    after_ns = int(found.after.time_ns.sum())
    later = f"{units.duration(after_ns)} after the first step; not part of any step"
    yield from _table(findings, choice, found.after, after_ns, "Outside of the steps", later)


def _table(
    findings: Findings, choice: Choice, parts: StartUp, whole_ns: int, title: str, note: str
) -> Iterator[Block]:
    if whole_ns >= _NOTEWORTHY_NS:
        rows = [row for row in start_up_rows(findings, parts) if row.time_ns >= _LEAST_NS]
        yield Heading(title, note)
        yield Table(columns(_COLUMNS, rows[: choice.most(_TOP)]))


def _what(row: StartUpRow) -> str:
    if row.part != "import":
        return _TEXTS.get(row.part or "", "other")
    module = printable(row.module or "a module")
    return f"import of {module}" if row.by is None else f"{printable(row.by)}() imported {module}"


def _line(row: StartUpRow) -> str:
    return "" if row.line is None else shorten.place(row.line)


_COLUMNS: tuple[Head[Sequence[StartUpRow]], ...] = (
    figure(
        "took", "Time it took outside of the steps.", lambda row: units.duration(row.time_ns), style="bold"
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
    titles=("Start-up", "Outside of the steps"),
    guide="steps",
    means="Where the time before the first step went, and that outside of later ones.",
    heads=_COLUMNS,
    json={
        "start_up": "The section *start-up*.",
        "after_steps": "What the main thread did after its first step and outside of all its steps.",
    },
)
