"""The call stacks of one operator, printed by `report --calls`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfprobe.report.rows.call_stacks import CallStackRow, call_stacks
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.row import plain
from perfprobe.report.section.block import Blank, Block, Heading, Paragraph
from perfprobe.report.shorten import file_names
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings

TOP = 10
MOST_IN_DOCUMENT = 1000  # stacks in JSON, unless the user requests a number
_MOST_FRAMES = 24  # innermost frames of a stack that are shown
_INDENT = 4


def stacks_document(findings: Findings, asked: str, choice: Choice) -> dict[str, Any]:
    """The stacks of an operator for JSON: its sums, and the stacks with all frames.

    Raises:
        InputError, UsageError: as `call_stacks`.
    """
    found = call_stacks(findings, asked, choice.most(MOST_IN_DOCUMENT))
    sums = {"asked": asked, "calls": found.calls, "self_ns": found.self_ns, "share": found.share}
    return {"schema": 1, **sums, "stacks": found.stacks, "call_stacks": [plain(row) for row in found.rows]}


def stacks_of(findings: Findings, asked: str, choice: Choice) -> Iterator[Block]:
    """Yields each stack with its calls and self time, innermost frame first.

    Raises:
        InputError, UsageError: as `call_stacks`.
    """
    found = call_stacks(findings, asked, choice.most(TOP))
    sums = f"{_calls(found.calls)}, self {units.duration(found.self_ns)}"
    stacks = f"{units.count(found.stacks)} stack{'' if found.stacks == 1 else 's'}"
    yield Heading(printable(asked), f"{sums}, {units.percent(found.share)} of operator time; {stacks}")
    names = file_names(sorted({line.file for row in found.rows for line in row.frames}))
    for row in found.rows:
        yield Blank()
        yield from _stack(row, names)
    if found.stacks > len(found.rows):
        left = units.count(found.stacks - len(found.rows))
        yield Blank()
        yield Paragraph(f"and {left} more: --top 0 shows all.", "dim")


def _stack(row: CallStackRow, names: dict[str, str]) -> Iterator[Block]:
    phase = f", {row.phase}" if row.phase not in (None, "other") else ""
    sums = f"{units.percent(row.share)}  self {units.duration(row.self_ns)}, {_calls(row.calls)}{phase}"
    yield Paragraph(f"{sums}: {printable(row.operator)}", "bold")
    if not row.frames:
        yield Paragraph("no Python was seen", indent=_INDENT)
    for line in row.frames[: -_MOST_FRAMES - 1 : -1]:
        text = f"{names[line.file]}:{line.line} {line.function}"
        yield Paragraph(printable(text), indent=_INDENT)
    if len(row.frames) > _MOST_FRAMES:
        yield Paragraph(f"and {len(row.frames) - _MOST_FRAMES} frames around these", "dim", indent=_INDENT)


def _calls(calls: int) -> str:
    return f"{units.count(calls)} call{'' if calls == 1 else 's'}"
