"""Rows of Python functions, of their calls, and one row of facts about all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from perfprobe.report.rows import function_times as times
from perfprobe.report.rows.row import figures_of, inline, measured, spread, unwritten, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64
from perfprobe.tables.python import CallStructure, Code, FunctionCalls, FunctionRows, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

BY_PHASE = tuple(
    f"{phase}_{of}_ns" for of in ("own", "total") for phase in ("forward", "backward", "recompute", "other")
)
_ORIGINS = {origin.value: origin.name.lower() for origin in Origin}

_Order = Callable[[CallStructure, FunctionRows], Int64]
_SORTS: dict[str, tuple[str, _Order]] = {
    "total": ("cumtime", times.total_ns),
    "calls": ("ncalls", lambda _, rows: rows.calls),
}
_SORT: tuple[str, _Order] = (
    "tottime",
    times.ranked_ns,
)  # also for orders that functions do not have


class Function(NamedTuple):
    """What identifies a function. A C function only has a name. origin: as in `Origin`."""

    file: str | None
    function: str
    first_line: int | None
    origin: str


@frozen(kw_only=True)
class FunctionRow:
    """A function; figures as in `FunctionRows`. by_phase: those of its operators, by column.

    cpu_ns: CPU time by samples. looks: how many samples show it running. only_counted: whether its times are
    cProfile's and included in its callers'. shown_own_ns, shown_total_ns: the times that are shown.
    """

    function: Function = spread("", Function._fields)
    calls: int | None
    primitive_calls: int | None
    counted_own_ns: int | None
    counted_total_ns: int | None
    own_ns: int | None
    total_ns: int | None
    neither_ns: int | None
    importing_ns: int | None
    idle_ns: int | None
    operator_calls: int | None
    operator_own_ns: int | None
    operator_total_ns: int | None
    by_phase: Mapping[str, int | None] = inline()
    cpu_ns: int | None
    looks: int = unwritten()
    only_counted: bool = unwritten()

    @property
    def shown_own_ns(self) -> int | None:
        """Without the functions it called; by samples also without imports of libraries and idle threads."""
        if self.only_counted or self.own_ns is None:
            return self.counted_own_ns if self.only_counted else None
        return self.own_ns - (self.importing_ns or 0) - (self.idle_ns or 0)

    @property
    def shown_total_ns(self) -> int | None:
        """Time with the functions it called."""
        return self.counted_total_ns if self.only_counted else self.total_ns


@frozen(kw_only=True)
class CallRow:
    """A function's figures for calls by one caller. caller: None if no caller is known."""

    caller: Function | None = spread("caller_", Function._fields)
    callee: Function | None = spread("callee_", Function._fields)
    calls: int | None
    total_ns: int | None
    counted_total_ns: int | None
    operator_total_ns: int | None


@frozen(kw_only=True)
class PythonRow:
    """The source and meaning of all functions' times.

    times: their source, "samples" or "cprofile". sample_ns: the time that a sample stands for. counts_end_ns:
    when cProfile stopped, if it was before the program ended. idle_ns: time in which threads other than the
    main one waited. looks: the number of samples. threads_ns: Python time of all threads, 0 if only one ran
    Python. has_calls, has_operators: whether calls were counted, and operators ran.
    """

    times: str | None
    sample_ns: int | None
    counts_end_ns: int | None
    idle_ns: int | None
    looks: int = unwritten()
    threads_ns: int = unwritten()
    has_calls: bool = unwritten()
    has_operators: bool = unwritten()

    @property
    def by_samples(self) -> bool:
        """Whether the times are the sampler's."""
        return self.times == "samples"


def python_row(structure: CallStructure) -> PythonRow:
    """The only row."""
    by_cprofile = "cprofile" if len(structure.python.counted) else None
    return PythonRow(
        times="samples" if structure.by_samples else by_cprofile,
        sample_ns=times.sample_ns(structure) or None,
        counts_end_ns=structure.counts_end_ns,
        idle_ns=int(np.maximum(structure.functions.idle_ns, 0).sum()) if structure.by_samples else None,
        looks=int(structure.python.samples.looks.sum()),
        threads_ns=structure.threads_ns,
        has_calls=bool((structure.functions.calls >= 0).any()),
        has_operators=times.has_operators(structure),
    )


def function_rows(trace: Trace, structure: CallStructure, rows: FunctionRows) -> list[FunctionRow]:
    """A row for each of these functions, in the same order."""
    beside = (
        functions(trace, structure.python.code.take(rows.code)),
        times.cpu_ns(structure, rows).tolist(),
        times.looks(structure, rows).tolist(),
        times.only_counted(structure, rows).tolist(),
    )
    return [
        FunctionRow(
            function=function,
            by_phase={name: measured(value.pop(name)) for name in BY_PHASE},
            cpu_ns=measured(cpu_ns),
            looks=looks,
            only_counted=only_counted,
            **figures_of(value, "code"),
        )
        for value, function, cpu_ns, looks, only_counted in zip(values(rows), *beside, strict=True)
    ]


def call_rows(trace: Trace, structure: CallStructure, calls: FunctionCalls) -> list[CallRow]:
    """A row for each of these calls, in the same order."""
    known = [*functions(trace, structure.python.code), None]
    return [
        CallRow(
            caller=known[value["caller"]],
            callee=known[value["callee"]],
            **figures_of(value, "caller", "callee"),
        )
        for value in values(calls)
    ]


def functions(trace: Trace, code: Code) -> list[Function]:
    """The function of each row of the table."""
    strings = trace.recording[Strings]
    columns = (code.file, code.function, code.first_line, code.origin)
    return [
        Function(
            file=strings[file] if file >= 0 else None,
            function=strings[name],
            first_line=first_line if file >= 0 else None,
            origin=_ORIGINS[origin],
        )
        for file, name, first_line, origin in zip(*(column.tolist() for column in columns), strict=True)
    ]


def ranked(structure: CallStructure, rows: FunctionRows, top: int, sort: str) -> FunctionRows:
    """The first `top` rows, the largest first; 0 for all."""
    _, key = _SORTS.get(sort, _SORT)
    order = np.argsort(-key(structure, rows), kind="stable")
    return rows.take(order[: top or len(order)])


def ranked_calls(calls: FunctionCalls, top: int) -> FunctionCalls:
    """The `top` calls with most time; 0 for all."""
    return calls.take(np.argsort(-calls.total_ns, kind="stable")[: top or len(calls)])


def sorted_by(sort: str) -> str:
    """The column by which functions are ranked, as pstats calls it."""
    return _SORTS.get(sort, _SORT)[0]
