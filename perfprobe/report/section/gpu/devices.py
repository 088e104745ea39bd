"""The counters of each GPU, and a training step's use of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.devices import DeviceRow, StepRow, device_rows, gpu_row, step_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.steps import StepTimes


def device_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`gpu` in one row, and `devices`; also `steps` if no other section has them."""
    gpu = findings[GpuFindings]
    steps = {} if StepTimes in findings else {"steps": step_rows(gpu)}
    return {"gpu": [gpu_row(gpu)], "devices": device_rows(findings), **steps}


def devices(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each GPU, and a line for the median step; nothing if nothing ran on any."""
    gpu, rows = findings[GpuFindings], device_rows(findings)
    if not rows:
        return
    yield Heading("GPUs", "busy: at least one kernel or copy ran")
    yield Table(_columns(rows, findings.wall_ns))
    for text in filter(None, (_median_step(step_rows(gpu)), _untimed(gpu))):
        yield Paragraph(text, "dim")


def _columns(rows: Sequence[DeviceRow], wall_ns: int | None) -> list[Column]:
    numbers = (units.ABSENT if row.device is None else str(row.device) for row in rows)
    shares = (units.percent(_share(row.busy_ns, wall_ns)) for row in rows)
    return [
        figures("GPU", numbers, style="bold"),
        *([figures("busy of wall", shares)] if wall_ns else []),
        figures("busy", (units.duration(row.busy_ns) for row in rows), 1),
        figures("first to last", (units.duration(row.span_ns) for row in rows), 4),
        figures("kernels", (units.count(row.kernels) for row in rows), 1),
        figures("kernel time", (units.duration(row.kernel_ns) for row in rows), 2),
        figures("copies", (units.count(row.copies) for row in rows), 3),
        figures("copy time", (units.duration(row.copy_ns) for row in rows), 5),
        figures("copied", (units.size(row.copied_bytes) for row in rows), 3),
        figures("streams", (units.count(row.streams) for row in rows), 6),
        *([Column("model", [row.name or "" for row in rows], 7)] if any(row.name for row in rows) else []),
    ]


def _share(time_ns: int | None, wall_ns: int | None) -> float | None:
    return time_ns / wall_ns if time_ns is not None and wall_ns else None


def _median_step(rows: Sequence[StepRow]) -> str:
    """The figures of the median step; "" without steps."""
    steps = [row for row in rows if row.step is not None]
    if not steps:
        return ""

    def median(name: str) -> int | None:
        return _median([getattr(row, name) for row in steps])

    def said(one: str, many: str, time: str) -> str:
        number = median(many)
        return f"{units.count(number)} {one if number == 1 else many} taking {units.duration(median(time))}"

    duration = units.duration(_median([row.duration_ns for row in steps]))
    who = "A step" if len(steps) == 1 else f"Median of {len(steps):,} steps"
    waits = f", {said('wait', 'waits', 'wait_ns')}" if median("waits") else ""
    return (
        f"{who}: {duration}; {said('kernel', 'kernels', 'kernel_ns')}, "
        f"{said('copy', 'copies', 'copy_ns')} ({units.size(median('copied_bytes'))}){waits}."
    )


def _median(numbers: Sequence[int | None]) -> int | None:
    """The lower median of the known values."""
    known = sorted(number for number in numbers if number is not None)
    return known[(len(known) - 1) // 2] if known else None


def _untimed(gpu: GpuFindings) -> str:
    if gpu.untimed <= 0:
        return ""
    return (
        f"{units.count(gpu.untimed)} kernels and copies without times are missing in times and busy shares."
    )
