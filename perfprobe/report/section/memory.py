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
from perfprobe.report.section.block import Blank, Block, Column, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
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
    yield Table(columns(_CATEGORIES, category_rows(findings)))
    yield from _growing(findings)
    yield from _for_backward(use)
    yield from _older(use)
    yield from _before(whole)
    if is_of_recorded_steps(findings):
        yield Paragraph("No figure includes what other steps than the recorded ones allocated.", "yellow")
    lines = use.lines.take(slice(choice.most(TOP) or None))
    yield from _part("Memory by line", _LINE, line_rows(findings, lines), len(use.lines))
    if not choice.is_alone and choice.top is None:
        return
    top = choice.most(TOP_OF_OTHERS)
    yield from _part("Memory by module", _MODULE, module_rows(findings, top), len(use.modules))
    yield from _part("Memory by phase", _PHASE, phase_rows(findings), len(use.phases))
    yield from _part("Memory by operator", _OPERATOR, operator_rows(findings, top), len(use.operators))


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
        older = f"Parameters and buffers of {units.size(use.older_bytes)} are older than the recording"
        yield Paragraph(f"{older}: no figure here includes them.", "yellow")


def _before(whole: MemoryRow) -> Iterator[Block]:
    if whole.before_bytes:
        held = units.size(whole.before_bytes)
        yield Paragraph(
            f"{whole.device} held {held} when the trace began: no figure here includes it.", "yellow"
        )


def _part(
    title: str, named: Head[Sequence[GroupRow]], rows: Sequence[GroupRow], number: int
) -> Iterator[Block]:
    if not rows:
        return
    shown = f"{len(rows)} of {number:,}" if len(rows) < number else f"all {number:,}"
    yield Blank()
    yield Heading(title, f"{shown} by bytes at the peak")
    yield Table(columns((*_SUMS, named), rows))


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


def _sum(title: str, means: str, name: str, rank: int) -> Head[Sequence[GroupRow]]:
    """A column of `MemorySums`."""
    return figure(title, means, lambda row: _cell(row, name), rank, shown=lambda row: row.figures[name])


def _named(
    title: str, means: str, texts: Callable[[Sequence[GroupRow]], list[str]]
) -> Head[Sequence[GroupRow]]:
    """What a row is about."""
    return Head(
        title,
        means,
        lambda rows: Column(title, texts(rows), least=24, wish=30, shorten=cut_function, style="cyan"),
    )


_AT_PEAK = "Bytes that it had allocated and that were still alive at the peak."
_HELD = "Bytes that it allocated and that were still alive at the end of the recording."
_CATEGORIES: tuple[Head[Sequence[CategoryRow]], ...] = (
    text(
        "category",
        "**parameters**: with buffers of modules. **gradients**: allocated in backward, alive at its end. "
        "**optimizer state**: allocated in an optimizer's step, alive at its end. **activations**: allocated "
        "in forward, alive when the step's backward begins. **inputs**: allocated outside of modules, "
        "backward and optimizers, such as batches. **kept from earlier steps**: activations and temporaries "
        "that outlive their step, and inputs that also outlive the next one. **temporaries**: everything "
        "else.",
        lambda row: row.category,
        style="bold",
    ),
    figure("at peak", _AT_PEAK, lambda row: units.size(row.peak_bytes)),
    figure(
        "of peak",
        "**at peak** divided by all memory held at the peak.",
        lambda row: units.percent(row.peak_share),
    ),
    figure(
        "storages",
        "Number of storages alive at the peak. Several tensors may share a storage.",
        lambda row: units.count(row.storages),
    ),
    figure("held", _HELD, lambda row: units.size(row.held_bytes)),
)
# A narrow terminal drops the highest rank first.
_SUMS = (
    _sum("at peak", _AT_PEAK, "peak_bytes", 0),
    _sum(
        "for backward",
        "Bytes that it allocated in forward and that were still alive when backward began: mean over the "
        "steps that count.",
        "backward_bytes",
        1,
    ),
    _sum(
        "growth/step",
        "Growth of the memory it holds, from the end of one step to the next: median slope over all pairs of "
        "steps. Empty if it does not grow in every quarter of the run. Memory that keeps growing is a leak.",
        "growth_bytes",
        2,
    ),
    _sum("held", _HELD, "held_bytes", 4),
    _sum("allocated", "Sum of all its allocations.", "allocated_bytes", 3),
    _sum(
        "freed",
        "Bytes freed in it, wherever they were allocated. Memory that Python frees between operators has no "
        "line.",
        "freed_bytes",
        5,
    ),
    _sum("allocations", "Number of storages that it allocated.", "allocations", 6),
)
_LINE = _named(
    "line", "Line of the program that allocated it, in backward the line of the forward call.", _places
)
_MODULE = _named(
    "module", "Innermost module that allocated it, in backward the module of the forward call.", _modules
)
_PHASE = _named("phase", "Phase in which it was allocated.", _names)
_OPERATOR = _named(
    "operator",
    "Operator that allocated it. For `aten::empty` this is the operator around it.",
    _names,
)

MEMORY = Section(
    "memory",
    (MemoryUse,),
    memory,
    memory_tables,
    titles=("Memory", "Memory by line", "Memory by module", "Memory by phase", "Memory by operator"),
    guide="memory",
    means="Memory of tensors on the CPU (`--memory`): the peak and what was held then, what forward keeps "
    "for backward, and what grows from step to step, by line, module, phase and operator.",
    heads=(*_CATEGORIES, *_SUMS, _LINE, _MODULE, _PHASE, _OPERATOR),
    json={
        "memory": "The section *memory*: the peak.",
        "memory_categories": "The section *memory*: the peak by category.",
        "memory_lines": "The section *memory*: by line.",
        "memory_modules": "The section *memory*: by module.",
        "memory_phases": "The section *memory*: by phase.",
        "memory_operators": "The section *memory*: by operator.",
        "memory_timeline": "Memory of each category over time.",
    },
)
