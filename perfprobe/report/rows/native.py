"""Rows of native code: parts of CPU time for each operator, and the functions with most of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.row import inline, place, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.native_code import (
    NativeFunctions,
    NativePart,
    NativePlace,
    NativeSplit,
)
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase


@frozen(kw_only=True)
class NativeFunctionRow:
    """A function with its CPU time. function: "" if its library has no symbols."""

    function: str
    library: str
    part: str
    cpu_ns: int
    share: float
    looks: int


@frozen(kw_only=True)
class NativeOperatorRow:
    """CPU time of an operator on all threads, divided into parts.

    place: "outside" for time outside of operators, "several" for time of team members while several threads
    ran operators. helpers_ns: time of team members. parts: `math_ns` and so on.
    """

    operator: str | None
    signature: str | None
    line: Line | None = place()
    phase: str | None
    place: str
    cpu_ns: int
    share: float
    helpers_ns: int
    looks: int
    parts: Mapping[str, int] = inline()
    function: str
    library: str


@frozen(kw_only=True)
class NativePartRow:
    """A part of all CPU time."""

    part: str
    cpu_ns: int
    share: float
    looks: int


def part_rows(findings: Findings) -> list[NativePartRow]:
    """All parts, most time first."""
    split = findings.get(NativeSplit)
    if split is None:
        return []
    cpu_ns: dict[int, int] = defaultdict(int)
    looks: dict[int, int] = defaultdict(int)
    for value in values(split.times):
        cpu_ns[value["kind"]] += value["cpu_ns"]
        looks[value["kind"]] += value["looks"]
    rows = [
        NativePartRow(
            part=_part(part), cpu_ns=cpu_ns[part], share=_share(split, cpu_ns[part]), looks=looks[part]
        )
        for part in cpu_ns
    ]
    return sorted(rows, key=lambda row: -row.cpu_ns)


def operator_rows(findings: Findings) -> list[NativeOperatorRow]:
    """A row for each operator with signature, line and phase, most time first."""
    split = findings.get(NativeSplit)
    if split is None:
        return []
    groups: dict[tuple[int, ...], list[dict[str, Any]]] = defaultdict(list)
    for value in values(split.times):
        groups[tuple(value[name] for name in ("place", "name", "signature", "frame", "phase"))].append(value)
    rows = [_operator(findings, split, group) for group in groups.values()]
    return sorted(rows, key=lambda row: -row.cpu_ns)


def function_rows(findings: Findings) -> list[NativeFunctionRow]:
    """A row for each function of each part, most time first."""
    split = findings.get(NativeSplit)
    if split is None:
        return []
    groups: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for value in values(split.times):
        groups[value["function"], value["kind"]].append(value)
    rows = []
    for (function, part), group in groups.items():
        name, library = _named(findings, function)
        cpu_ns = sum(value["cpu_ns"] for value in group)
        rows.append(
            NativeFunctionRow(
                function=name,
                library=library,
                part=_part(part),
                cpu_ns=cpu_ns,
                share=_share(split, cpu_ns),
                looks=sum(value["looks"] for value in group),
            )
        )
    return sorted(rows, key=lambda row: -row.cpu_ns)


def _operator(findings: Findings, split: NativeSplit, group: list[dict[str, Any]]) -> NativeOperatorRow:
    trace, first = findings.trace, group[0]
    parts = {part.name.lower(): 0 for part in NativePart}
    by_function: dict[int, int] = defaultdict(int)
    for value in group:
        parts[_part(value["kind"])] += value["cpu_ns"]
        by_function[value["function"]] += value["cpu_ns"]
    function, library = _named(findings, max(by_function, key=lambda each: by_function[each]))
    cpu_ns = sum(parts.values())
    name = first["name"]
    return NativeOperatorRow(
        operator=trace.recording[Strings][name] if name >= 0 else None,
        signature=trace.signature(first["signature"]),
        line=trace.line(first["frame"]),
        phase=word(Phase, first["phase"]),
        place=NativePlace(first["place"]).name.lower(),
        cpu_ns=cpu_ns,
        share=_share(split, cpu_ns),
        helpers_ns=sum(value["cpu_ns"] for value in group if value["is_helper"]),
        looks=sum(value["looks"] for value in group),
        parts={f"{part}_ns": time_ns for part, time_ns in parts.items()},
        function=function,
        library=library,
    )


def _named(findings: Findings, function: int) -> tuple[str, str]:
    """Returns the symbol, and the path of its library."""
    recording = findings.trace.recording
    if function < 0:
        return "", "(unknown)"
    functions, strings = recording[NativeFunctions], recording[Strings]
    return strings[functions.name[function]], strings[functions.library[function]]


def _part(part: int) -> str:
    return NativePart(part).name.lower()


def _share(split: NativeSplit, cpu_ns: int) -> float:
    return cpu_ns / max(split.cpu_ns, 1)
