"""The table of Python functions, in the form of pstats, with the operators they called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.focus import in_focus
from perfprobe.report.rows.functions import (
    call_rows,
    function_rows,
    python_row,
    ranked,
    ranked_calls,
    sorted_by,
)
from perfprobe.report.rows.hot_functions import HotFunctions, hot_functions
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.ranking import focus_text
from perfprobe.report.rows.threads import thread_rows
from perfprobe.report.section.block import Block, Heading, Paragraph, Section, Table
from perfprobe.report.section.function_columns import MEANINGS, function_columns
from perfprobe.report.section.function_notes import notes
from perfprobe.report.section.thread_sums import thread_sums
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import Calling

TOP = 15
_TITLE = "Python functions"


def function_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`functions`, `calls`, `threads`, `imports`, and `python`: one row about the source of the times."""
    trace, calling = findings.trace, findings[Calling]
    top = choice.top or 0
    rows, calls = in_focus(findings, calling.functions), in_focus(findings, calling.calls)
    return {
        "python": [python_row(calling)],
        "functions": function_rows(trace, calling, ranked(calling, rows, top, choice.sort)),
        "calls": call_rows(trace, calling, ranked_calls(calls, top)),
        "threads": thread_rows(trace.recording, calling),
        "imports": import_rows(trace, calling),
    }


def functions(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table, notes on its figures, and their sums; nothing if no functions were recorded."""
    found = hot_functions(findings, choice.most(TOP), choice.sort)
    if found.whole == 0:
        if found.few_samples:
            yield Heading(_TITLE, "the run was too short for samples")
        return
    if not found.rows:
        return  # no row is in focus
    yield Heading(_TITLE, _said(found, choice.sort, findings.focus))
    yield Table(
        function_columns(found, findings.wall_ns),
        notes=lambda seen: [" ".join(notes(findings, found, seen))],
    )
    if found.few_samples:
        return
    for text in thread_sums(thread_rows(findings.trace.recording, findings[Calling]), found.python):
        yield Paragraph(text, "dim")


def _said(found: HotFunctions, sort: str, focus: str | None) -> str:
    number = "1 function" if found.found == 1 else f"{found.found:,} functions"
    if focus is not None:
        number = f"{found.found:,} of {found.whole:,} functions in focus {focus_text(focus)}"
    some = f"{len(found.rows):,} of {number}" if len(found.rows) < found.found else number
    return f"{some} by {sorted_by(sort)}"


FUNCTIONS = Section(
    "functions",
    (Calling,),
    functions,
    function_tables,
    titles=("Python functions",),
    guide="functions",
    means="The program's Python functions as `pstats` shows them, with the operators that each one called.",
    meanings=MEANINGS,
    json={
        "python": "How Python functions were recorded.",
        "functions": "The section *functions*.",
        "calls": "Calls between functions, with their number and time.",
        "threads": "Time of Python functions on each thread.",
        "imports": "Imports and their times.",
    },
)
