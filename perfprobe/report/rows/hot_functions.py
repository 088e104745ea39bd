"""The Python functions that a report shows, and facts about all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from perfprobe.models.seen import has_few_samples
from perfprobe.report.rows.focus import in_focus
from perfprobe.report.rows.function_times import (
    by_cprofile,
    has_operators,
    only_counted,
    self_ns,
)
from perfprobe.report.rows.functions import (
    Function,
    FunctionRow,
    PythonRow,
    function_rows,
    python_row,
    ranked,
)
from perfprobe.report.rows.imports import ImportRow, import_rows
from perfprobe.report.rows.named import is_nearly_all
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Mask, among
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure, FunctionRows, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

IMPORTS = Function(None, "imports", None, "library")

_RUNNERS = ("<built-in method builtins.exec>", "<built-in method builtins.__import__>")


@frozen
class HotFunctions:
    """The first rows by some order, and how many there are.

    whole: how many functions there are. found: how many of these are in focus, without those that their
    callers' rows include. included: how many these are. few_samples: whether there were too few samples, so
    that cProfile's times are used. imports: those of libraries; one row, that of the function `IMPORTS`, has
    them all.
    """

    rows: list[FunctionRow]
    python: PythonRow
    whole: int
    found: int
    included: int
    few_samples: bool
    imports: list[ImportRow]


def hot_functions(findings: Findings, top: int, sort: str) -> HotFunctions:
    """The first `top` functions, 0 for all, without those that other tables show better."""
    trace, structure = findings.trace, findings[CallStructure]
    few_samples = has_few_samples(structure)
    if few_samples:
        structure = by_cprofile(structure)
    rows = _recorded(trace, structure)
    found = in_focus(findings, rows)
    is_included = _included_in_caller(structure, found)
    kept = found.take(~is_included)
    imports = import_rows(trace, structure) if findings.focus is None else []
    shown = function_rows(trace, structure, ranked(structure, kept, top, sort))
    return HotFunctions(
        rows=_with_imports(shown, imports, sort)[: top or None],
        python=python_row(structure),
        whole=len(rows),
        found=len(kept),
        included=len(found) - len(kept),
        few_samples=few_samples,
        imports=imports,
    )


def _with_imports(rows: list[FunctionRow], imports: Sequence[ImportRow], sort: str) -> list[FunctionRow]:
    """The rows with one more for all imports, ordered by time."""
    time_ns = sum(row.time_ns for row in imports)
    if time_ns == 0 or sort == "calls":
        return rows
    row = _import_row(time_ns, sum(row.cpu_ns for row in imports))
    at = next((at for at, each in enumerate(rows) if (each.shown_own_ns or 0) < time_ns), len(rows))
    return [*rows[:at], row, *rows[at:]]


def _import_row(time_ns: int, cpu_ns: int) -> FunctionRow:
    """One row for all functions that ran in imports."""
    values: dict[str, Any] = dict.fromkeys(each.name for each in fields(FunctionRow))
    values |= {"function": IMPORTS, "own_ns": time_ns, "total_ns": time_ns, "cpu_ns": cpu_ns}
    values |= {"by_phase": {}, "looks": 0, "only_counted": False}
    return FunctionRow(**values)


def _recorded(trace: Trace, structure: CallStructure) -> FunctionRows:
    """The functions with times or calls, without C functions that other tables or rows show better.

    With samples, torch's C functions are left out, because tables of operators have them. C functions that
    run Python are left out too: cProfile's times for them include imports of libraries and more.
    """
    rows, code = structure.functions, structure.python.code
    rows = rows.take((rows.own_ns >= 0) | (rows.calls >= 0))
    is_operator = (code.origin[rows.code] == Origin.TORCH) & has_operators(structure)
    names = (trace.recording[Strings][at] for at in code.function[rows.code].tolist())
    is_runner = np.array([name in _RUNNERS for name in names], np.bool_)
    return rows.take(~(only_counted(structure, rows) & (is_operator | is_runner)))


def _included_in_caller(structure: CallStructure, rows: FunctionRows) -> Mask:
    """Returns which C functions of the standard library take nearly all time of a caller with a row."""
    self_of = dict(zip(rows.code.tolist(), self_ns(structure, rows).tolist(), strict=True))
    is_stdlib = structure.python.code.origin[rows.code] == Origin.STDLIB
    candidates = rows.take(only_counted(structure, rows) & is_stdlib)
    total_of = dict(zip(candidates.code.tolist(), candidates.counted_total_ns.tolist(), strict=True))
    calls = structure.calls
    calls = calls.take(among(calls.callee, candidates.code) & among(calls.caller, rows.code))
    included = [
        callee
        for caller, callee, time_ns in zip(
            calls.caller.tolist(), calls.callee.tolist(), calls.counted_total_ns.tolist(), strict=True
        )
        if self_of[caller] > 0
        and is_nearly_all(time_ns, total_of[callee])
        and is_nearly_all(time_ns, self_of[caller])
    ]
    return among(rows.code, included)
