"""The memory of tensors: the peak, what was alive then, and what allocated it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.memory import (
    CategoryRow,
    GroupRow,
    MemoryRow,
    category_rows,
    is_of_recorded_steps,
    line_rows,
    memory_rows,
    module_rows,
    operator_rows,
    phase_rows,
    timeline_rows,
)
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.lines import cut_function
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import MemoryGrowth
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.trace import Line, shown_name

TOP = 8
TOP_OF_OTHERS = 5
_MOST_GROWING = 3
_NO_LINE = "(no line of the program)"
_NO_MODULE = "(outside of modules)"
# Title, column of `MemorySums`, and rank: a narrow terminal drops the highest rank first.
_FIGURES = (
    ("at peak", "peak_bytes", 0),
    ("for backward", "backward_bytes", 1),
    ("growth/step", "growth_bytes", 2),
    ("held", "held_bytes", 4),
    ("allocated", "allocated_bytes", 3),
    ("freed", "freed_bytes", 5),
    ("allocations", "allocations", 6),
)


def memory_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`memory`, one row, and `memory_categories`, `memory_lines` and so on."""
    top, use = choice.top or 0, findings[MemoryUse]
    return {
        "memory": memory_rows(findings),
        "memory_categories": category_rows(findings),
        "memory_lines": line_rows(findings, use.lines.take(slice(top or None))),
        "memory_operators": operator_rows(findings, top),
        "memory_modules": module_rows(findings, top),
        "memory_phases": phase_rows(findings),
        "memory_timeline": timeline_rows(findings),
    }


def memory(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Categories, then lines, modules, phases and operators."""
    use, (whole,) = findings[MemoryUse], memory_rows(findings)
    at = "" if whole.peak_at_ns is None else f" after {units.duration(whole.peak_at_ns)}"
    of_gpu = "" if whole.device == "CPU" else f"of {whole.device}: "
    yield Heading(
        "Memory",
        f"{of_gpu}peak {units.size(use.peak_bytes)}{at}, {units.size(use.held_bytes)} held at the end",
    )
    yield Table(_category_columns(category_rows(findings)))
    yield from _growing(findings)
    yield from _for_backward(use)
    yield from _older(use)
    yield from _before(whole)
    if is_of_recorded_steps(findings):
        yield Paragraph("No figure includes what other steps than the recorded ones allocated.", "yellow")
    lines = use.lines.take(slice(choice.most(TOP) or None))
    yield from _part("Memory by line", "line", line_rows(findings, lines), len(use.lines), _places)
    if not choice.is_alone and choice.top is None:
        return
    top = choice.most(TOP_OF_OTHERS)
    yield from _part("Memory by module", "module", module_rows(findings, top), len(use.modules), _modules)
    yield from _part("Memory by phase", "phase", phase_rows(findings), len(use.phases), _names)
    yield from _part(
        "Memory by operator", "operator", operator_rows(findings, top), len(use.operators), _names
    )


def place_text(line: Line | None) -> str:
    """`train.py:12`, the file without its folders."""
    return _NO_LINE if line is None else shorten.place(line)


def _growing(findings: Findings) -> Iterator[Block]:
    growing, use = findings[MemoryGrowth].lines, findings[MemoryUse]
    if len(growing) == 0:
        return
    rows = line_rows(findings, growing.take(slice(_MOST_GROWING)))
    named = ", ".join(f"{place_text(row.line)} {units.size(row.figures['growth_bytes'])}" for row in rows)
    more = f", and {len(growing) - len(rows)} more lines" if len(growing) > len(rows) else ""
    whole = units.size(use.growth_bytes)
    yield Paragraph(f"Held memory grows by {whole} a step: {named}{more}.", "yellow")


def _for_backward(use: MemoryUse) -> Iterator[Block]:
    if use.backward_bytes is not None:
        yield Paragraph(f"Forward leaves {units.size(use.backward_bytes)} alive for backward in a step.")


def _older(use: MemoryUse) -> Iterator[Block]:
    if use.older_bytes > 0:
        text = f"Parameters and buffers of {units.size(use.older_bytes)} are older than the recording"
        yield Paragraph(f"{text}: no figure here includes them.", "yellow")


def _before(whole: MemoryRow) -> Iterator[Block]:
    if whole.before_bytes:
        held = units.size(whole.before_bytes)
        yield Paragraph(
            f"{whole.device} held {held} when the trace began: no figure here includes it.", "yellow"
        )


def _part(
    title: str,
    column: str,
    rows: Sequence[GroupRow],
    number: int,
    texts: Callable[[Sequence[GroupRow]], list[str]],
) -> Iterator[Block]:
    if not rows:
        return
    shown = f"{len(rows)} of {number:,}" if len(rows) < number else f"all {number:,}"
    yield Blank()
    yield Heading(title, f"{shown} by bytes at the peak")
    yield Table(_columns(column, rows, texts(rows)))


def _columns(title: str, rows: Sequence[GroupRow], texts: list[str]) -> list[Column]:
    shown = [
        figures(name, [_cell(row, column) for row in rows], rank)
        for name, column, rank in _FIGURES
        if any(row.figures[column] for row in rows)
    ]
    return [*shown, Column(title, texts, least=24, wish=30, shorten=cut_function, style="cyan")]


def _cell(row: GroupRow, column: str) -> str:
    value = row.figures[column]
    if value == 0:
        return ""
    return units.count(value) if column == "allocations" else units.size(value)


def _places(rows: Sequence[GroupRow]) -> list[str]:
    names = shorten.file_names([printable(row.line.file) for row in rows if row.line is not None])
    return [
        _NO_LINE
        if row.line is None
        else f"{names[printable(row.line.file)]}:{row.line.line} in {printable(row.line.function)}"
        for row in rows
    ]


def _modules(rows: Sequence[GroupRow]) -> list[str]:
    return [_NO_MODULE if row.name is None else printable(row.name) for row in rows]


def _names(rows: Sequence[GroupRow]) -> list[str]:
    return [printable(shown_name(row.name or "", narrow=True)) for row in rows]


def _category_columns(rows: Sequence[CategoryRow]) -> list[Column]:
    return [
        Column("category", [row.category for row in rows], style="bold"),
        figures("at peak", (units.size(row.peak_bytes) for row in rows)),
        figures("of peak", (units.percent(row.peak_share) for row in rows)),
        figures("storages", (units.count(row.storages) for row in rows)),
        figures("held", (units.size(row.held_bytes) for row in rows)),
    ]
