"""The table of Python functions, in the form of pstats, with the operators they called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.focus import in_focus
from perfprobe.report.rows.functions import (
    PythonRow,
    call_rows,
    function_rows,
    python_row,
    ranked,
    ranked_calls,
    sorted_by,
)
from perfprobe.report.rows.hot_functions import HotFunctions, hot_functions
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.rows.ranking import focus_text
from perfprobe.report.rows.threads import ThreadRow, thread_rows
from perfprobe.report.section.block import Block, Heading, Paragraph, Section, Table
from perfprobe.report.section.function_columns import MEANINGS, function_columns
from perfprobe.report.section.function_notes import notes
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure

TOP = 15
_TITLE = "Python functions"
_MOST_THREADS = 4
_LONGEST_NAME = 40


def function_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`functions`, `calls`, `threads`, `imports`, and `python`: one row about the source of the times."""
    trace, structure = findings.trace, findings[CallStructure]
    top = choice.top or 0
    rows, calls = in_focus(findings, structure.functions), in_focus(findings, structure.calls)
    return {
        "python": [python_row(structure)],
        "functions": function_rows(trace, structure, ranked(structure, rows, top, choice.sort)),
        "calls": call_rows(trace, structure, ranked_calls(calls, top)),
        "threads": thread_rows(trace.recording, structure),
        "imports": import_rows(trace, structure),
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
    for text in _thread_sums(thread_rows(findings.trace.recording, findings[CallStructure]), found.python):
        yield Paragraph(text, "dim")


def _said(found: HotFunctions, sort: str, focus: str | None) -> str:
    number = "1 function" if found.found == 1 else f"{found.found:,} functions"
    if focus is not None:
        number = f"{found.found:,} of {found.whole:,} functions in focus {focus_text(focus)}"
    some = f"{len(found.rows):,} of {number}" if len(found.rows) < found.found else number
    return f"{some} by {sorted_by(sort)}"


def _thread_sums(threads: Sequence[ThreadRow], python: PythonRow) -> Iterator[str]:
    """`MainThread: wall 5.02 s = functions 99.1 % + no Python 0.5 % + the rest 0.4 %`, the longest first."""
    in_order = sorted(threads, key=lambda row: -1 if row.wall_ns is None else row.wall_ns, reverse=True)
    for row in in_order[:_MOST_THREADS]:
        yield f"{_thread_name(row)}: {_thread_sum(row, python)}"
    if len(threads) > _MOST_THREADS:
        yield f"and {len(threads) - _MOST_THREADS:,} more threads (in the JSON)."


def _thread_name(row: ThreadRow) -> str:
    if row.os_thread is None:
        return "a thread"
    if row.is_main:
        return "main thread"
    return cut(printable(row.own_name or ""), _LONGEST_NAME) or f"thread {row.os_thread}"


def _thread_sum(row: ThreadRow, python: PythonRow) -> str:
    parts = {
        "functions": row.own_ns,
        "perfprobe": row.perfprobe_ns,
        "no Python": row.no_python_ns,
        "not readable": row.failed_ns,
    }
    known = {name: time_ns for name, time_ns in parts.items() if time_ns}
    wall_ns = row.wall_ns
    if not wall_ns:
        return ", ".join(f"{name} {units.duration(time_ns)}" for name, time_ns in known.items())
    rest_ns = wall_ns - sum(known.values())
    if rest_ns > 0:
        known["not sampled" if python.by_samples else "outside of them"] = rest_ns
    shares = [f"{name} {units.percent(time_ns / wall_ns)}" for name, time_ns in known.items()]
    more = f" ({units.percent(-rest_ns / wall_ns)} too much)" if is_named(-rest_ns, wall_ns, OF_ROW) else ""
    return f"wall {units.duration(wall_ns)} = {' + '.join(shares)}{more}"


FUNCTIONS = Section(
    "functions",
    (CallStructure,),
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
