"""Rows of the memory of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.row import figures_of, inline, named, place, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Findings
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.memory import CATEGORY_TEXTS, MemoryCategory, MemoryLines, MemoryUse
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase

OUTSIDE = "(between operators)"


@frozen(kw_only=True)
class MemoryRow:
    """Memory of the whole recording; other fields: see `MemoryUse`.

    device: "CPU", or in a trace "GPU 0". before_bytes: what that GPU held when the trace began; no other
    figure includes it. peak_at_ns: since the start.
    """

    device: str
    before_bytes: int | None
    peak_bytes: int
    peak_at_ns: int | None
    allocations: int
    allocated_bytes: int
    held_bytes: int
    older_bytes: int
    backward_bytes: int | None
    growth_bytes: int | None
    steps: int


@frozen(kw_only=True)
class CategoryRow:
    """Memory of one category. peak_share: its part of all memory alive at the peak."""

    category: str
    storages: int
    peak_bytes: int
    peak_share: float | None
    held_bytes: int


@frozen(kw_only=True)
class GroupRow:
    """Memory of an operator, line, module or phase. figures: the columns of `MemorySums`.

    name: of the operator, module or phase; None for a line, and for memory allocated outside of modules.
    """

    name: str | None
    line: Line | None = place()
    figures: dict[str, int | None] = inline()


@frozen(kw_only=True)
class TimelineRow:
    """Memory that one category held at a moment. time_ns: since the start."""

    time_ns: int
    category: str
    held_bytes: int


def memory_rows(findings: Findings) -> list[MemoryRow]:
    """One row: memory of the whole recording."""
    use = findings[MemoryUse]
    return [
        MemoryRow(
            device=device_of(findings),
            before_bytes=_before_bytes(findings),
            peak_bytes=use.peak_bytes,
            peak_at_ns=since_start(findings, use.peak_ns),
            allocations=use.allocations,
            allocated_bytes=use.allocated_bytes,
            held_bytes=use.held_bytes,
            older_bytes=use.older_bytes,
            backward_bytes=use.backward_bytes,
            growth_bytes=use.growth_bytes,
            steps=use.steps,
        )
    ]


def device_of(findings: Findings) -> str:
    """The device whose memory it is: the CPU, except in traces of GPUs."""
    device = findings.trace.recording.number("memory", "device")
    return "CPU" if device is None else f"GPU {int(device)}"


def is_of_recorded_steps(findings: Findings) -> bool:
    """Whether some steps were not recorded: what they allocated is in no figure."""
    return not bool(findings.trace.recording[LiveSteps].is_recorded.all())


def _before_bytes(findings: Findings) -> int | None:
    before_bytes = findings.trace.recording.number("memory", "before_bytes")
    return None if before_bytes is None else int(before_bytes)


def since_start(findings: Findings, time_ns: int) -> int | None:
    """Returns the time since the program's start; None if that is not known."""
    start_ns = findings.trace.start_ns
    return None if start_ns is None else time_ns - start_ns


def category_rows(findings: Findings) -> list[CategoryRow]:
    """Categories with memory alive at the peak or at the end, most at the peak first."""
    use = findings[MemoryUse]
    rows = [
        CategoryRow(
            category=CATEGORY_TEXTS[MemoryCategory(value["category"])],
            storages=value["storages"],
            peak_bytes=value["peak_bytes"],
            peak_share=value["peak_bytes"] / use.peak_bytes if use.peak_bytes > 0 else None,
            held_bytes=value["held_bytes"],
        )
        for value in values(use.categories)
        if value["peak_bytes"] or value["held_bytes"]
    ]
    return sorted(rows, key=lambda row: -row.peak_bytes)


def operator_rows(findings: Findings, top: int = 0) -> list[GroupRow]:
    """Returns a row for each operator. top: at most this many, 0 for all."""
    strings = findings.trace.recording[Strings]
    return [
        _group(value, "name", named(strings[value["name"]]) or OUTSIDE)
        for value in _first(findings[MemoryUse].operators, top)
    ]


def line_rows(findings: Findings, lines: MemoryLines) -> list[GroupRow]:
    """Rows of these lines of the program."""
    found = []
    for value in values(lines):
        line = findings.trace.line(value["frame"])
        found.append(_group(value, "frame", None, line))
    return found


def module_rows(findings: Findings, top: int = 0) -> list[GroupRow]:
    """Returns a row for each module. top: at most this many, 0 for all."""
    return [
        _group(value, "module", findings.trace.module(value["module"]))
        for value in _first(findings[MemoryUse].modules, top)
    ]


def phase_rows(findings: Findings) -> list[GroupRow]:
    """Returns a row for each phase."""
    return [
        _group(value, "phase", Phase(value["phase"]).name.lower())
        for value in values(findings[MemoryUse].phases)
    ]


def timeline_rows(findings: Findings) -> list[TimelineRow]:
    """All moments, by category."""
    return [
        TimelineRow(
            time_ns=since_start(findings, value["time_ns"]) or 0,
            category=CATEGORY_TEXTS[MemoryCategory(value["category"])],
            held_bytes=value["held_bytes"],
        )
        for value in values(findings[MemoryUse].timeline)
    ]


def _first(table: Table, top: int) -> Iterator[dict[str, Any]]:
    return values(table.take(slice(top or None)))


def _group(value: dict[str, Any], key: str, name: str | None, line: Line | None = None) -> GroupRow:
    return GroupRow(name=name, line=line, figures=figures_of(value, key))
