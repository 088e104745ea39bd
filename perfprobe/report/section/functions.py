"""The table of Python functions, as users of pstats know it, with the operators they called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import RenderableType

from perfprobe.report.render import columns
from perfprobe.report.render.paragraph import heading, paragraph
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.ranking import focus_text
from perfprobe.report.section.base import Layout
from perfprobe.report.section.function_columns import (
    function_columns,
    has_operators,
    only_counted,
    own_ns,
    total_ns,
)
from perfprobe.report.section.function_notes import (
    by_cprofile,
    has_few_samples,
    notes,
    sample_ns,
    thread_sums,
)
from perfprobe.support.view import compiled
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import Calling, Code, FunctionRows, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

TOP = 15
_NEARLY = 0.9

_RUNNERS = ("<built-in method builtins.exec>", "<built-in method builtins.__import__>")

_Order = Callable[[Calling, FunctionRows], Int64]
_SORTS: dict[str, tuple[str, _Order]] = {
    "total": ("cumtime", total_ns),
    "calls": ("ncalls", lambda _, rows: rows.calls),
}
_SORT: tuple[str, _Order] = ("tottime", own_ns)  # also where the order is one that functions do not have


def functions(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table, what its figures are, and what they add up to; nothing where no functions were recorded."""
    trace, calling = findings.trace, findings[Calling]
    is_short = has_few_samples(calling)
    if is_short:
        calling = by_cprofile(calling)
    rows = recorded(trace, calling)
    focus = findings.focus
    found = rows if focus is None else rows.take(in_focus(trace, calling.python.code, focus)[rows.code])
    if len(rows) == 0:
        if is_short:
            yield heading("Python functions", "the run was too short for samples", layout.width)
        return
    is_told = told_by_caller(calling, found)
    found = found.take(~is_told)
    shown = ranked(calling, found, layout.most(TOP), layout.sort)
    yield heading("Python functions", _said(rows, found, shown, layout.sort, focus), layout.width)
    if len(shown) == 0:
        return
    least_ns = sample_ns(calling)
    placed = columns.fit(function_columns(trace, calling, shown, findings.wall_ns, least_ns), layout.width)
    yield columns.table(placed)
    said = [*notes(findings, calling, shown, placed)]
    if bool(is_told.any()):
        said.append("C functions with nearly the time of the function that calls them are left out.")
    yield paragraph(" ".join(said), layout.width, "dim")
    if is_short:
        return
    for text in thread_sums(trace, calling):
        yield paragraph(text, layout.width, "dim")


def recorded(trace: Trace, calling: Calling) -> FunctionRows:
    """The functions of which more is known than their operators; C functions where they say more than others.

    Beside samples, torch's are what the tables of operators show; those that run Python code have the time of
    all that cProfile leaves out, such as the import of libraries.
    """
    rows, code = calling.functions, calling.python.code
    rows = rows.take((rows.own_ns >= 0) | (rows.calls >= 0))
    is_operator = (code.origin[rows.code] == Origin.TORCH) & has_operators(calling)
    names = (trace.recording[Strings][at] for at in code.function[rows.code].tolist())
    is_runner = np.array([name in _RUNNERS for name in names], np.bool_)
    return rows.take(~(only_counted(calling, rows) & (is_operator | is_runner)))


def told_by_caller(calling: Calling, rows: FunctionRows) -> Mask:
    """The standard library's C functions with nearly all the time of a caller that has a row too."""
    own_of = dict(zip(rows.code.tolist(), own_ns(calling, rows).tolist(), strict=True))
    is_stdlib = calling.python.code.origin[rows.code] == Origin.STDLIB
    candidates = rows.take(only_counted(calling, rows) & is_stdlib)
    total_of = dict(zip(candidates.code.tolist(), candidates.counted_total_ns.tolist(), strict=True))
    calls = calling.calls
    calls = calls.take(np.isin(calls.callee, candidates.code) & np.isin(calls.caller, rows.code))
    told = [
        callee
        for caller, callee, time_ns in zip(
            calls.caller.tolist(), calls.callee.tolist(), calls.counted_total_ns.tolist(), strict=True
        )
        if time_ns >= _NEARLY * total_of[callee] and time_ns >= _NEARLY * own_of[caller] > 0
    ]
    return np.isin(rows.code, told)


def in_focus(trace: Trace, code: Code, focus: str) -> Mask:
    """In which `file:line in function` of `code` the regular expression is found; one more entry for -1."""
    search, strings = compiled(focus).search, trace.recording[Strings]
    places = zip(code.file.tolist(), code.first_line.tolist(), code.function.tolist(), strict=True)
    texts = (
        f"{strings[file]}:{line} in {strings[name]}" if file >= 0 else strings[name]
        for file, line, name in places
    )
    return np.array([*(search(text) is not None for text in texts), False], np.bool_)


def ranked(calling: Calling, rows: FunctionRows, top: int, sort: str) -> FunctionRows:
    """The first rows, the largest first; 0 for all."""
    _, key = _SORTS.get(sort, _SORT)
    order = np.argsort(-key(calling, rows), kind="stable")
    return rows.take(order[: top or len(order)])


def _said(rows: FunctionRows, found: FunctionRows, shown: FunctionRows, sort: str, focus: str | None) -> str:
    name, _ = _SORTS.get(sort, _SORT)
    number = "1 function" if len(found) == 1 else f"{len(found):,} functions"
    if focus is not None:
        number = f"{len(found):,} of {len(rows):,} functions in focus {focus_text(focus)}"
    if len(found) == 0:
        return number
    some = f"{len(shown):,} of {number}" if len(shown) < len(found) else number
    return f"{some} by {name}"


def function_section_tables(findings: Findings, choice: Choice) -> dict[str, Any]:
    """`python`, `functions`, `calls`, `threads`."""
    from perfprobe.report.rows.json_functions import function_tables

    return function_tables(findings, findings[Calling], choice.top or 0, choice.sort)
