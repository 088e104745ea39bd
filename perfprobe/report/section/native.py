"""Native code: what CPU time of operators consists of, and the functions with most of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.rows.native import (
    NativeFunctionRow,
    NativeOperatorRow,
    function_rows,
    operator_rows,
    part_rows,
)
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.native_code import PART_TEXTS, NativePart, NativeSplit
from perfprobe.tables.trace import shown_name

TOP = 8
_TITLES = {
    NativePart.MATH: "math",
    NativePart.LOOPS: "loops",
    NativePart.WAIT: "wait",
    NativePart.COPY: "copy",
    NativePart.MEMORY: "memory",
    NativePart.DISPATCH: "dispatch",
    NativePart.PYTHON: "Python",
    NativePart.SYSTEM: "system",
    NativePart.PERFPROBE: "perfprobe",
    NativePart.OTHER: "other",
}
_RANKS = {
    NativePart.MATH: 1,
    NativePart.DISPATCH: 3,
    NativePart.LOOPS: 4,
    NativePart.OTHER: 4,
    NativePart.PYTHON: 5,
    NativePart.SYSTEM: 6,
    NativePart.PERFPROBE: 7,
}
_PLACES = {"outside": "(no operator)", "several": "(of several operators)"}


def native_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`native_parts`, `native_operators` and `native_symbols`."""
    return {
        "native_parts": part_rows(findings),
        "native_operators": operator_rows(findings),
        "native_symbols": function_rows(findings),
    }


def native(findings: Findings, choice: Choice) -> Iterator[Block]:
    """All parts in one line, then operators, then functions."""
    split, most = findings[NativeSplit], choice.most(TOP) or None
    operators, functions = operator_rows(findings), function_rows(findings)
    every = f"one sample per {units.plain(split.period_ns / 1e6)} ms"
    yield Heading("Native code", f"CPU time of all threads, {every}")
    yield Paragraph(f"All: {', '.join(_parts(findings))}.")
    yield Table(_columns(operators[:most]))
    yield Table(_function_columns(functions[:most]))
    for note in _notes(split):
        yield Paragraph(note, "dim")


def _parts(findings: Findings) -> Iterator[str]:
    for row in part_rows(findings):
        yield f"{PART_TEXTS[NativePart[row.part.upper()]]} {units.percent(row.share)}"


def _columns(rows: Sequence[NativeOperatorRow]) -> list[Column]:
    lines = [units.ABSENT if row.line is None else shorten.place(row.line) for row in rows]
    shown = [part for part in NativePart if any(_has(row, part) for row in rows)]
    return [
        figures("of CPU", (units.percent(row.share) for row in rows), style="bold"),
        figures("CPU", (units.duration(row.cpu_ns) for row in rows), 3),
        *(figures(_TITLES[part], (_cell(row, part) for row in rows), _RANKS.get(part, 2)) for part in shown),
        Column("operator", [_operator(row) for row in rows], least=12, wish=20),
        Column("signature", [_signature(row) for row in rows], 8, least=10, wish=20),
        Column("line", [printable(line) for line in lines], 1),
        Column("most in", [function_text(row.function, row.library) for row in rows], 9, least=16),
    ]


def _has(row: NativeOperatorRow, part: NativePart) -> bool:
    return is_named(row.parts[f"{part.name.lower()}_ns"], max(row.cpu_ns, 1), OF_ROW)


def _cell(row: NativeOperatorRow, part: NativePart) -> str:
    share = row.parts[f"{part.name.lower()}_ns"] / max(row.cpu_ns, 1)
    return units.percent(share) if is_named(share, least=OF_ROW) else ""


def _operator(row: NativeOperatorRow) -> str:
    if row.operator is None:
        return _PLACES[row.place]
    return printable(shown_name(row.operator, narrow=True))


def _signature(row: NativeOperatorRow) -> str:
    return "" if row.signature is None else printable(shorten.signature(row.signature))


def _function_columns(rows: Sequence[NativeFunctionRow]) -> list[Column]:
    parts = [PART_TEXTS[NativePart[row.part.upper()]] for row in rows]
    return [
        figures("of CPU", (units.percent(row.share) for row in rows), style="bold"),
        figures("samples", (units.count(row.looks) for row in rows), 3),
        Column("what", parts, 2),
        Column("function", [printable(row.function) or units.ABSENT for row in rows], least=24),
        Column("library", [_file(row.library) for row in rows], 1, least=12),
    ]


def function_text(function: str, library: str) -> str:
    """The function's name, else the file of its library."""
    return printable(function) or _file(library)


def _file(library: str) -> str:
    return printable(library.rpartition("/")[2])


def _notes(split: NativeSplit) -> Iterator[str]:
    clock_ns = split.process_cpu_ns
    if not split.with_kernel:
        rest_ns = max((clock_ns or 0) - split.cpu_ns, 0)
        unseen = "" if clock_ns is None else f": {units.duration(rest_ns)} by the clocks"
        yield f"Time in the kernel (page faults, system calls) is not in these figures{unseen}."
    elif clock_ns:
        yield f"The samples cover {units.percent(split.cpu_ns / clock_ns)} of the threads' CPU time."
    if split.cost_ns is not None:
        yield f"Reading and naming the samples took {units.duration(split.cost_ns)} of CPU time."


_MEANINGS: dict[str, str] = {
    "of CPU": "Share of the CPU time of all threads, by samples of the instruction address.",
    "CPU": "CPU time of the operator itself, including team members that work for it.",
    "math": "Share of its CPU time in kernels of MKL, oneDNN, FBGEMM and other math libraries, and in code "
    "that they generate.",
    "loops": "Share of its CPU time in torch's own vectorised loops, or those of torch.compile.",
    "wait": "Share of its CPU time that threads spend waiting in OpenMP's library: spinning, sleeping, "
    "waking up.",
    "copy": "Share of its CPU time in memcpy, memset and torch's copy loops.",
    "memory": "Share of its CPU time in malloc and free, in mapping memory, and in page faults wherever "
    "they happen.",
    "dispatch": "Share of its CPU time in torch's other code: dispatcher, autograd, checks, the binding to "
    "Python.",
    "Python": "Share of its CPU time in the interpreter.",
    "system": "Share of its CPU time in system calls, except those that map memory.",
    "perfprobe": "Share of its CPU time that recording takes.",
    "other": "Share of its CPU time in other libraries; **function** and **library** show which.",
    "samples": "Number of samples.",
    "what": "The kind of code that the function belongs to.",
    "function": "Symbol of the library. `a..b`: a function without a name, between these two. `-`: the "
    "library has no symbols.",
    "library": "File name of the library.",
    "most in": "The function with most of the operator's CPU time.",
    "operator": "The innermost operator that ran. Team members count for the operator they work for.",
    "signature": "Inputs of the operator.",
    "line": "Line of the program.",
}

NATIVE = Section(
    "native",
    (NativeSplit,),
    native,
    native_tables,
    titles=("Native code",),
    guide="native",
    means="CPU time of operators by kind of native code and by function (`--native`).",
    meanings=_MEANINGS,
    json={
        "native_parts": "The section *native*: parts of all CPU time.",
        "native_operators": "The section *native*: operators.",
        "native_symbols": "The section *native*: functions of libraries.",
    },
)
