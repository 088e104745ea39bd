"""The columns of the table of Python functions, by the names that pstats gives them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.section.block import Column
from perfprobe.report.section.cells import durations, percents, unless_zero
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.python import Calling, Code, FunctionRows, Look, Origin
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

OF_ALL = "of all"  # in place of "of wall" where several threads' functions take more than that
PART = "+"  # beside counts that cover only a part of the run
_NAME = 14  # cells that a function's name should have
_PLACE = re.compile(r".*:\d+", re.DOTALL)
_FROZEN = re.compile(r"<frozen ([\w.]+)>")
_ORIGINS = {
    Origin.USER: "",
    Origin.LIBRARY: "library",
    Origin.STDLIB: "stdlib",
    Origin.TORCH: "torch",
    Origin.PERFPROBE: "perfprobe",
}


def only_counted(calling: Calling, rows: FunctionRows) -> Mask:
    """Rows with times by cProfile, which are in their callers' too: C functions beside samples."""
    is_c = calling.python.code.file[rows.code] < 0
    return np.asarray(is_c & (rows.own_ns < 0) & (rows.counted_own_ns >= 0))


def own_ns(calling: Calling, rows: FunctionRows) -> Int64:
    """The time by which rows are shown and ordered, -1 not known."""
    return np.where(only_counted(calling, rows), rows.counted_own_ns, rows.own_ns)


def total_ns(calling: Calling, rows: FunctionRows) -> Int64:
    """The same with what the functions called."""
    return np.where(only_counted(calling, rows), rows.counted_total_ns, rows.total_ns)


def cpu_ns(calling: Calling, rows: FunctionRows) -> Int64:
    """CPU time of each function without those it called, by samples; -1 where they do not have it."""
    known = calling.sampled.take((calling.sampled.cpu_ns >= 0) & (calling.sampled.look == Look.READ))
    code = calling.python.of_stack[known.stack]
    sums = np.full(len(calling.python.code) + 1, -1, np.int64)  # the last one: of no function
    sums[code] = 0
    np.add.at(sums, code, known.cpu_ns)
    return np.asarray(sums[rows.code])


def threads_ns(calling: Calling) -> int:
    """Python time of all threads, 0 where it is one thread's."""
    several = [time_ns for time_ns in calling.threads.own_ns.tolist() if time_ns > 0]
    return min(sum(several), np.iinfo(np.int64).max) if len(several) > 1 else 0


def function_columns(
    trace: Trace, calling: Calling, shown: FunctionRows, wall_ns: int | None, least_ns: int
) -> list[Column]:
    """The columns that this recording can fill. least_ns: less than that, samples cannot tell."""
    own, total, cpu = own_ns(calling, shown), total_ns(calling, shown), cpu_ns(calling, shown)
    least = np.where(only_counted(calling, shown), 0, least_ns)
    title, whole_ns = "of wall", wall_ns
    if wall_ns and threads_ns(calling) > wall_ns:
        title, whole_ns = OF_ALL, threads_ns(calling)

    def timed(title: str, cells: Sequence[str], rank: int = 0, style: str = "") -> Column:
        return Column(title, enclosed(calling, shown, cells), rank, align="right", style=style)

    counts = [Column("ncalls", ncalls(calling, shown), 2, align="right")]
    return [
        *([timed(title, _shares(own, whole_ns, least), 0, "bold")] if whole_ns else []),
        timed("tottime", durations(own, least)),
        *([Column("cpu", durations(cpu), 6, align="right")] if bool((cpu >= 0).any()) else []),
        timed("cumtime", durations(total, least), 1),
        *(counts if bool((calling.functions.calls >= 0).any()) else []),
        *(_operator_columns(shown, least_ns) if has_operators(calling) else []),
        _origin_column(calling.python.code, shown),
        _function_column(trace, calling.python.code, shown),
    ]


def _shares(own_ns: Int64, whole_ns: int, least_ns: Int64) -> list[str]:
    cells, least = percents(own_ns, whole_ns), percents(np.minimum(least_ns, whole_ns), whole_ns)
    too_little = ((own_ns >= 0) & (own_ns < least_ns)).tolist()
    return [
        f"<{at_least.removeprefix('<')}" if little else cell
        for cell, at_least, little in zip(cells, least, too_little, strict=True)
    ]


def has_operators(calling: Calling) -> bool:
    """Whether any operators are known to have run in the functions."""
    return bool((calling.functions.operator_calls > 0).any())


def _operator_columns(shown: FunctionRows, least_ns: int) -> list[Column]:
    neither = Column("non-ops", durations(shown.neither_ns, least_ns), 3, align="right")
    own, total = durations(shown.operator_own_ns), durations(shown.operator_total_ns)
    return [
        *([neither] if bool((shown.neither_ns >= 0).any()) else []),
        Column("own ops", unless_zero(own), 7, align="right"),
        Column("all ops", unless_zero(total), 4, align="right"),
    ]


def enclosed(calling: Calling, shown: FunctionRows, cells: Sequence[str]) -> list[str]:
    """The cells, in brackets those that are part of other rows too."""
    inside = only_counted(calling, shown)
    if not bool(inside.any()):
        return list(cells)
    part = _part(calling)
    return [
        f"({cell}{part})" if mark else f"{cell} " for cell, mark in zip(cells, inside.tolist(), strict=True)
    ]


def _part(calling: Calling) -> str:
    return PART if calling.counts_end_ns is not None else ""


def ncalls(calling: Calling, shown: FunctionRows) -> list[str]:
    """`12/3`: all calls and those that were not recursive, where these are fewer."""
    part = _part(calling)
    cells = []
    for calls, primitive in zip(shown.calls.tolist(), shown.primitive_calls.tolist(), strict=True):
        recursive = f"/{units.count(primitive)}" if 0 <= primitive < calls else ""
        cells.append(f"{units.count(calls)}{recursive}{part}" if calls >= 0 else units.ABSENT)
    return cells


def names(trace: Trace, code: Code, rows: FunctionRows) -> list[str]:
    """`text.py:12 tokenize`, or what cProfile calls a C function."""
    strings = trace.recording[Strings]
    files, functions, first_lines = (
        column[rows.code].tolist() for column in (code.file, code.function, code.first_line)
    )
    texts = [printable(_path(strings[file])) if file >= 0 else "" for file in files]
    short = shorten.file_names([text for text in texts if text])
    return [
        f"{short[text]}:{line} {printable(strings[function])}" if text else printable(strings[function])
        for text, function, line in zip(texts, functions, first_lines, strict=True)
    ]


def _path(file: str) -> str:
    """The source of a module that is frozen into the interpreter; every other file as it is."""
    match = _FROZEN.fullmatch(file)
    return f"{match[1].replace('.', '/')}.py" if match is not None else file


def cut_name(text: str, width: int) -> str:
    """A function with only its name cut, never its `file:line`."""
    place, blank, name = text.rpartition(" ")
    if not _PLACE.fullmatch(place):
        return shorten.cut(text, width)
    room = width - cell_len(place) - 1
    return f"{place}{blank}{shorten.cut(name, room)}" if room >= 3 else place


def _function_column(trace: Trace, code: Code, shown: FunctionRows) -> Column:
    cells = names(trace, code, shown)
    places = [place for place in (cell.rpartition(" ")[0] for cell in cells) if _PLACE.fullmatch(place)]
    least = max(map(cell_len, places), default=8)
    is_user = (code.origin[shown.code] == Origin.USER).tolist()
    return Column(
        "function",
        cells,
        least=least,
        wish=least + _NAME,
        shorten=cut_name,
        styles=["bold cyan" if user else "cyan" for user in is_user],
    )


def _origin_column(code: Code, shown: FunctionRows) -> Column:
    return Column("code", [_ORIGINS[Origin(at)] for at in code.origin[shown.code].tolist()], 5, style="dim")
