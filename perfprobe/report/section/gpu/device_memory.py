"""The memory of each GPU, as torch's allocator counts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.device_memory import DeviceMemoryRow, device_memory_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.findings import Findings


def device_memory_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`device_memory`: a row for each GPU."""
    return {"device_memory": device_memory_rows(findings)}


def device_memory(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each GPU, and a line for each on which memory ran short."""
    rows = device_memory_rows(findings)
    when = "after each allocation" if findings.trace.recording.is_trace else "when steps end"
    yield Heading("GPU memory", f"of torch's allocator, read {when}")
    yield Table(columns(_COLUMNS, rows))
    for row in rows:
        if row.retries:
            yield Paragraph(retries_text(row), "yellow")


def retries_text(row: DeviceMemoryRow) -> str:
    """Returns what happens where an allocation does not fit: torch empties its cache, for which it waits."""
    times = "once" if row.retries == 1 else f"{row.retries:,} times"
    return f"GPU {row.device} was full {times}: torch waited for it and emptied its cache."


_COLUMNS: tuple[Head[Sequence[DeviceMemoryRow]], ...] = (
    figure("GPU", "Number of the device, as torch counts them.", lambda row: str(row.device), style="bold"),
    figure(
        "at peak",
        "Most bytes in tensors at once, as `torch.cuda.max_memory_allocated` counts them.",
        lambda row: units.size(row.peak_bytes),
    ),
    figure("of capacity", "**at peak** divided by **capacity**.", lambda row: units.percent(row.peak_share)),
    figure(
        "reserved",
        "Most bytes that torch's allocator had taken from the device, including those that it keeps for "
        "later tensors.",
        lambda row: units.size(row.reserved_peak_bytes),
        1,
    ),
    figure("capacity", "Memory of the device.", lambda row: units.size(row.capacity_bytes), 2),
    figure(
        "step's end",
        "Bytes in tensors at the end of a step: median.",
        lambda row: units.size(row.step_bytes),
        3,
    ),
    figure(
        "growth/step",
        "Growth of **step's end** from one step to the next: median slope over all pairs of steps. Empty if "
        "it does not grow in every quarter of the run.",
        lambda row: units.size(row.growth_bytes),
        4,
        shown=lambda row: row.growth_bytes,
    ),
    figure(
        "held", "Bytes in tensors at the end of the recording.", lambda row: units.size(row.held_bytes), 5
    ),
    figure(
        "retries",
        "How often an allocation did not fit at first: torch then waits for the device, empties its cache "
        "and tries again.",
        lambda row: units.count(row.retries),
        6,
        shown=lambda row: row.retries,
    ),
    text(
        "model", "Name of the device.", lambda row: printable(row.name or ""), 7, shown=lambda row: row.name
    ),
)

GPU_MEMORY = Section(
    "gpu-memory",
    (DeviceMemory,),
    device_memory,
    device_memory_tables,
    titles=("GPU memory",),
    guide="memory",
    means="Memory of each GPU (`--memory`), as counted by torch's allocator: the peak as a share of the "
    "device's capacity, and growth from step to step.",
    heads=_COLUMNS,
    json={"device_memory": "The section *gpu-memory*: each GPU that was read."},
)
