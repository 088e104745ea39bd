"""The columns of the table of Python functions, with pstats' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.rows.functions import Function, FunctionRow, PythonRow
from perfprobe.report.rows.hot_functions import IMPORTS, HotFunctions
from perfprobe.report.rows.imports import ImportRow
from perfprobe.report.section.block import Column
from perfprobe.report.section.figures import figures, unless_zero
from perfprobe.report.section.imports import imports_text
from perfprobe.support import units
from perfprobe.support.text import printable

OF_ALL = "of all"  # in place of "of wall" if functions of several threads take more than the wall time
PART = "+"  # beside counts that cover only a part of the run
_NAME = 14  # characters that a function's name should have
_PLACE = re.compile(r".*:\d+", re.DOTALL)
_FROZEN = re.compile(r"<frozen ([\w.]+)>")
_USER = "user"


def function_columns(found: HotFunctions, wall_ns: int | None) -> list[Column]:
    """The columns that this recording can fill."""
    rows, python = found.rows, found.python
    title, whole_ns = "of wall", wall_ns
    if wall_ns and python.threads_ns > wall_ns:
        title, whole_ns = OF_ALL, python.threads_ns

    def timed(title: str, cells: Sequence[str], rank: int = 0, style: str = "") -> Column:
        return figures(title, enclosed(found, cells), rank, style)

    return [
        *([timed(title, _shares(rows, whole_ns, python), 0, "bold")] if whole_ns else []),
        timed("tottime", [units.duration(row.shown_own_ns, _least_ns(row, python)) for row in rows]),
        *_cpu_column(rows),
        timed("cumtime", [units.duration(row.shown_total_ns, _least_ns(row, python)) for row in rows], 1),
        *([figures("ncalls", (ncalls(row, python) for row in rows), 2)] if python.has_calls else []),
        *(_operator_columns(rows, python) if python.has_operators else []),
        Column(
            "code",
            ["" if row.function.origin == _USER else row.function.origin for row in rows],
            5,
            style="dim",
        ),
        _function_column([row.function for row in rows], found.imports),
    ]


def _least_ns(row: FunctionRow, python: PythonRow) -> int:
    """The shortest time that can be distinguished."""
    return 0 if row.only_counted else python.sample_ns or 0


def _shares(rows: Sequence[FunctionRow], whole_ns: int, python: PythonRow) -> list[str]:
    def share(row: FunctionRow) -> str:
        self_ns, least_ns = row.shown_own_ns, _least_ns(row, python)
        if self_ns is None or self_ns >= least_ns:
            return units.percent(None if self_ns is None else self_ns / whole_ns)
        return f"<{units.percent(min(least_ns / whole_ns, 1)).removeprefix('<')}"

    return [share(row) for row in rows]


def _cpu_column(rows: Sequence[FunctionRow]) -> Iterable[Column]:
    if any(row.cpu_ns is not None for row in rows):
        yield figures("cpu", (units.duration(row.cpu_ns) for row in rows), 6)


def _operator_columns(rows: Sequence[FunctionRow], python: PythonRow) -> Iterable[Column]:
    if any(row.neither_ns is not None for row in rows):
        least_ns = python.sample_ns or 0
        yield figures("non-ops", (units.duration(row.neither_ns, least_ns) for row in rows), 3)
    yield figures("own ops", (unless_zero(row.operator_own_ns) for row in rows), 7)
    yield figures("all ops", (unless_zero(row.operator_total_ns) for row in rows), 4)


def enclosed(found: HotFunctions, cells: Sequence[str]) -> list[str]:
    """The cells, in brackets if other rows include them."""
    inside = [row.only_counted for row in found.rows]
    if not any(inside):
        return list(cells)
    part = _part(found.python)
    return [f"({cell}{part})" if mark else f"{cell} " for cell, mark in zip(cells, inside, strict=True)]


def _part(python: PythonRow) -> str:
    return PART if python.counts_end_ns is not None else ""


def ncalls(row: FunctionRow, python: PythonRow) -> str:
    """The number of calls; `12/3`, all calls and non-recursive ones, if these differ."""
    calls, primitive = row.calls, row.primitive_calls
    if calls is None:
        return units.ABSENT
    recursive = "" if primitive is None or primitive >= calls else f"/{units.count(primitive)}"
    return f"{units.count(calls)}{recursive}{_part(python)}"


def names(functions: Sequence[Function]) -> list[str]:
    """`text.py:12 tokenize`, or cProfile's name of a C function."""
    texts = ["" if each.file is None else printable(_path(each.file)) for each in functions]
    short = shorten.file_names([text for text in texts if text])
    return [
        f"{short[text]}:{each.first_line} {printable(each.function)}" if text else printable(each.function)
        for text, each in zip(texts, functions, strict=True)
    ]


def _path(file: str) -> str:
    """The source file of a module that is frozen into the interpreter; any other file unchanged."""
    match = _FROZEN.fullmatch(file)
    return f"{match[1].replace('.', '/')}.py" if match is not None else file


def cut_name(text: str, width: int) -> str:
    """The text of a function cut to a width. Only its name is cut, never its `file:line`."""
    place, blank, name = text.rpartition(" ")
    if not _PLACE.fullmatch(place):
        return shorten.cut(text, width)
    room = width - cell_len(place) - 1
    return f"{place}{blank}{shorten.cut(name, room)}" if room >= 3 else place


def _function_column(functions: Sequence[Function], imports: Sequence[ImportRow]) -> Column:
    cells = [
        f"imports: {imports_text(imports)}" if function == IMPORTS else name
        for function, name in zip(functions, names(functions), strict=True)
    ]
    places = [place for place in (cell.rpartition(" ")[0] for cell in cells) if _PLACE.fullmatch(place)]
    least = max(map(cell_len, places), default=8)
    return Column(
        "function",
        cells,
        least=least,
        wish=least + _NAME,
        shorten=cut_name,
        styles=["bold cyan" if each.origin == _USER else "cyan" for each in functions],
    )


MEANINGS: dict[str, str] = {
    "of wall": "tottime divided by the wall time.",
    "of all": "tottime divided by the time of all threads' functions, if that is more than the wall time.",
    "tottime": "Time in the function itself; the name is that of `pstats`. Imports of libraries are one "
    "separate row. Waiting of threads other than the main one is left out.",
    "cpu": "The part of tottime during which the thread ran on a processor. If it is near 0, the function "
    "waited.",
    "cumtime": "Time in the function including the functions that it called.",
    "ncalls": "Number of calls. `12/3`: 12 calls, 3 of them not recursive. `1,234+`: counted for a part of "
    "the run. `-`: not counted.",
    "non-ops": "The part of tottime during which no operator ran: Python itself, numpy and other C code, "
    "waiting.",
    "own ops": "Time of the operators that the function called itself. Backward counts at the forward call.",
    "all ops": "Time of the operators called by it and by the functions below it. May be more than cumtime, "
    "because backward counts at the forward call.",
    "code": "Origin of the function, if it is not yours: library, torch, standard library.",
    "function": "File and line of its `def`, and its name.",
}
