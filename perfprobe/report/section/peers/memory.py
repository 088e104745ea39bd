"""Memory as Paddle's profiler and the TensorBoard plugin show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.memory import device_of
from perfprobe.report.rows.peers.memory import (
    PaddleMemoryRow,
    TensorBoardEventRow,
    TensorBoardMemoryRow,
    paddle_memory_rows,
    tensorboard_event_rows,
    tensorboard_memory_rows,
)
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.peers.summary import name_column
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.memory import MemoryUse

TOP = 20
_EVENTS = 10
_PADDLE_NOTE = (
    "Peak Reserved Memory: the allocator for the CPU reserves none; `--view gpu-memory` has that of GPUs. "
    "Increased Size: bytes allocated there minus bytes freed there, whoever had allocated them."
)
_TENSORBOARD_NOTE = (
    "Self: in none of the operators inside it. A call inside one of the same name counts in both, as in the "
    "plugin. `--view memory` has lines, categories and the peak."
)


def paddle_memory_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_memory`."""
    return {"paddle_memory": paddle_memory_rows(findings, choice.top or 0)}


def paddle_memory(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The Memory Summary of the CPU."""
    rows = paddle_memory_rows(findings, choice.most(TOP))
    peak = units.size(findings[MemoryUse].peak_bytes)
    yield Heading(
        f"Memory Summary - {device_of(findings)}", f"Peak Allocated Memory: {peak}, Peak Reserved Memory: -"
    )
    yield Table(_paddle_columns(rows))
    yield Paragraph(_PADDLE_NOTE, "dim")


def _paddle_columns(rows: Sequence[PaddleMemoryRow]) -> list[Column]:
    return [
        name_column("Name", [row.name for row in rows]),
        Column("Type", [row.type for row in rows], 5),
        figures("Allocation Count", (units.count(row.allocation_count) for row in rows), 4),
        figures("Free Count", (units.count(row.free_count) for row in rows), 3),
        figures("Allocation Size", (units.size(row.allocation_size_bytes) for row in rows)),
        figures("Free Size", (units.size(row.free_size_bytes) for row in rows), 2),
        figures("Increased Size", (units.size(row.increased_size_bytes) for row in rows)),
    ]


def tensorboard_memory_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`tb_memory` and `tb_memory_events`."""
    top = choice.top or 0
    return {
        "tb_memory": tensorboard_memory_rows(findings, top),
        "tb_memory_events": tensorboard_event_rows(findings, top),
    }


def tensorboard_memory(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The plugin's statistics by operator, then its events, of the largest storages."""
    peak = units.size(findings[MemoryUse].peak_bytes)
    yield Heading("Memory View", f"{device_of(findings)}, the whole recording, Peak Memory Usage: {peak}")
    yield Table(_statistics(tensorboard_memory_rows(findings, choice.most(TOP))))
    yield Paragraph(_TENSORBOARD_NOTE, "dim")
    events = tensorboard_event_rows(findings, choice.most(_EVENTS))
    if events:
        yield Blank()
        yield Heading("Memory Events", "the largest storages")
        yield Table(_events(events))


def _statistics(rows: Sequence[TensorBoardMemoryRow]) -> list[Column]:
    return [
        name_column("Operator Name", [row.operator_name for row in rows]),
        figures("Calls", (units.count(row.calls) for row in rows), 3),
        figures("Size Increase", (units.size(row.size_increase_bytes) for row in rows), 2),
        figures("Self Size Increase", (units.size(row.self_size_increase_bytes) for row in rows)),
        figures("Allocation Count", (units.count(row.allocation_count) for row in rows), 6),
        figures("Self Allocation Count", (units.count(row.self_allocation_count) for row in rows), 5),
        figures("Allocation Size", (units.size(row.allocation_size_bytes) for row in rows), 4),
        figures("Self Allocation Size", (units.size(row.self_allocation_size_bytes) for row in rows)),
    ]


def _events(rows: Sequence[TensorBoardEventRow]) -> list[Column]:
    return [
        name_column("Operator", [row.operator for row in rows]),
        figures("Size", (units.size(row.size_bytes) for row in rows)),
        figures("Allocation Time", (units.duration(row.allocation_time_ns) for row in rows), 1),
        figures("Release Time", (units.duration(row.release_time_ns) for row in rows), 2),
        figures("Duration", (units.duration(row.duration_ns) for row in rows)),
    ]
