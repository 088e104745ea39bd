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
from perfprobe.report.section.block import Blank, Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.section.peers.summary import name_head
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
    yield Table(columns(_PADDLE, rows))
    yield Paragraph(_PADDLE_NOTE, "dim")


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
    yield Table(columns(_STATISTICS, tensorboard_memory_rows(findings, choice.most(TOP))))
    yield Paragraph(_TENSORBOARD_NOTE, "dim")
    events = tensorboard_event_rows(findings, choice.most(_EVENTS))
    if events:
        yield Blank()
        yield Heading("Memory Events", "the largest storages")
        yield Table(columns(_OF_EVENTS, events))


_ALONE = "The same, without the operators inside it."
_PADDLE: tuple[Head[Sequence[PaddleMemoryRow]], ...] = (
    name_head("Name", "The innermost operator or range.", lambda row: row.name),
    text(
        "Type",
        "The kind of memory: allocated, which is what the program requested.",
        lambda row: row.type,
        5,
    ),
    figure(
        "Allocation Count",
        "Number of allocations in it, without the events inside it.",
        lambda row: units.count(row.allocation_count),
        4,
    ),
    figure("Free Count", "Number of storages freed in it.", lambda row: units.count(row.free_count), 3),
    figure("Allocation Size", "Bytes allocated in it.", lambda row: units.size(row.allocation_size_bytes)),
    figure(
        "Free Size",
        "Bytes freed in it, wherever they were allocated.",
        lambda row: units.size(row.free_size_bytes),
        2,
    ),
    figure(
        "Increased Size",
        "Allocation Size minus Free Size.",
        lambda row: units.size(row.increased_size_bytes),
    ),
)
_STATISTICS: tuple[Head[Sequence[TensorBoardMemoryRow]], ...] = (
    name_head("Operator Name", "Name of the operator.", lambda row: row.operator_name),
    figure(
        "Calls",
        "Number of calls. A call inside another of the same name counts too, as in the plugin.",
        lambda row: units.count(row.calls),
        3,
    ),
    figure(
        "Size Increase",
        "Bytes allocated minus bytes freed in it.",
        lambda row: units.size(row.size_increase_bytes),
        2,
    ),
    figure("Self Size Increase", _ALONE, lambda row: units.size(row.self_size_increase_bytes)),
    figure(
        "Allocation Count",
        "Number of allocations in it.",
        lambda row: units.count(row.allocation_count),
        6,
    ),
    figure("Self Allocation Count", _ALONE, lambda row: units.count(row.self_allocation_count), 5),
    figure("Allocation Size", "Bytes allocated in it.", lambda row: units.size(row.allocation_size_bytes), 4),
    figure("Self Allocation Size", _ALONE, lambda row: units.size(row.self_allocation_size_bytes)),
)
_OF_EVENTS: tuple[Head[Sequence[TensorBoardEventRow]], ...] = (
    name_head("Operator", "The operator that allocated the storage.", lambda row: row.operator),
    figure("Size", "Size of the storage.", lambda row: units.size(row.size_bytes)),
    figure(
        "Allocation Time",
        "Time of the allocation, since the start.",
        lambda row: units.duration(row.allocation_time_ns),
        1,
    ),
    figure(
        "Release Time",
        "Time at which it was freed; - if it was not.",
        lambda row: units.duration(row.release_time_ns),
        2,
    ),
    figure(
        "Duration",
        "Time between allocation and release.",
        lambda row: units.duration(row.duration_ns),
    ),
)

PADDLE_MEMORY = Section(
    "paddle.memory",
    (MemoryUse,),
    paddle_memory,
    paddle_memory_tables,
    titles=("Memory Summary", "Memory Summary - CPU"),
    guide="memory",
    means="Memory allocated and freed on the CPU (`--memory`), by the innermost operator or range.",
    heads=_PADDLE,
    json={"paddle_memory": "The view *paddle.memory*."},
)
TB_MEMORY = Section(
    "tb.memory",
    (MemoryUse,),
    tensorboard_memory,
    tensorboard_memory_tables,
    titles=("Memory View", "Memory Events"),
    guide="memory",
    means="Memory allocated and freed on the CPU (`--memory`), by operator, and the largest storages.",
    heads=(*_STATISTICS, *_OF_EVENTS),
    json={
        "tb_memory": "The view *tb.memory*: by operator.",
        "tb_memory_events": "The view *tb.memory*: the largest storages.",
    },
)
