"""The memory of each GPU, as torch's allocator counts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.device_memory import DeviceMemoryRow, device_memory_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings


def device_memory_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`device_memory`: a row for each GPU."""
    return {"device_memory": device_memory_rows(findings)}


def device_memory(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each GPU, and a line for each on which memory ran short."""
    rows = device_memory_rows(findings)
    when = "after each allocation" if findings.trace.recording.is_trace else "when steps end"
    yield Heading("GPU memory", f"of torch's allocator, read {when}")
    yield Table(_columns(rows))
    for row in rows:
        if row.retries:
            yield Paragraph(retries_text(row), "yellow")


def retries_text(row: DeviceMemoryRow) -> str:
    """Returns what happens where an allocation does not fit: torch empties its cache, for which it waits."""
    times = "once" if row.retries == 1 else f"{row.retries:,} times"
    return f"GPU {row.device} was full {times}: torch waited for it and emptied its cache."


def _columns(rows: Sequence[DeviceMemoryRow]) -> list[Column]:
    shown = [
        figures("GPU", (str(row.device) for row in rows), style="bold"),
        figures("at peak", (units.size(row.peak_bytes) for row in rows)),
        figures("of capacity", (units.percent(row.peak_share) for row in rows)),
        figures("reserved", (units.size(row.reserved_peak_bytes) for row in rows), 1),
        figures("capacity", (units.size(row.capacity_bytes) for row in rows), 2),
        figures("step's end", (units.size(row.step_bytes) for row in rows), 3),
    ]
    if any(row.growth_bytes for row in rows):
        shown.append(figures("growth/step", (units.size(row.growth_bytes) for row in rows), 4))
    shown.append(figures("held", (units.size(row.held_bytes) for row in rows), 5))
    if any(row.retries for row in rows):
        shown.append(figures("retries", (units.count(row.retries) for row in rows), 6))
    if any(row.name for row in rows):
        shown.append(Column("model", [printable(row.name or "") for row in rows], 7))
    return shown
