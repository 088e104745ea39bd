"""The counters of each GPU, and a training step's use of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.models.intervals import lower_median
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.devices import DeviceRow, StepRow, device_rows, gpu_row, step_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.heads import columns, figure, text
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
    of_wall = [_OF_WALL.make((rows, findings.wall_ns))] if findings.wall_ns else []
    yield Table([_NUMBER.make(rows), *of_wall, *columns(_COLUMNS, rows)])
    for said in filter(None, (_median_step(step_rows(gpu)), _untimed(gpu))):
        yield Paragraph(said, "dim")


def _share(time_ns: int | None, wall_ns: int | None) -> float | None:
    return time_ns / wall_ns if time_ns is not None and wall_ns else None


def _median_step(rows: Sequence[StepRow]) -> str:
    """The figures of the median step; "" without steps."""
    steps = [row for row in rows if row.step is not None]
    if not steps:
        return ""

    def median(name: str) -> int | None:
        return lower_median(getattr(row, name) for row in steps)

    def said(one: str, many: str, time: str) -> str:
        number = median(many)
        return f"{units.count(number)} {one if number == 1 else many} taking {units.duration(median(time))}"

    duration = units.duration(lower_median(row.duration_ns for row in steps))
    who = "A step" if len(steps) == 1 else f"Median of {len(steps):,} steps"
    waits = f", {said('wait', 'waits', 'wait_ns')}" if median("waits") else ""
    return (
        f"{who}: {duration}; {said('kernel', 'kernels', 'kernel_ns')}, "
        f"{said('copy', 'copies', 'copy_ns')} ({units.size(median('copied_bytes'))}){waits}."
    )


def _untimed(gpu: GpuFindings) -> str:
    if gpu.untimed <= 0:
        return ""
    return (
        f"{units.count(gpu.untimed)} kernels and copies without times are missing in times and busy shares."
    )


_OF_WALL: Head[tuple[Sequence[DeviceRow], int]] = Head(
    "busy of wall",
    "busy divided by the wall time.",
    lambda of: figures("busy of wall", (units.percent(_share(row.busy_ns, of[1])) for row in of[0])),
)
_COLUMNS: tuple[Head[Sequence[DeviceRow]], ...] = (
    figure(
        "busy",
        "Time during which at least one kernel, copy or fill ran. It does not say how much of the GPU it "
        "used.",
        lambda row: units.duration(row.busy_ns),
        1,
    ),
    figure(
        "first to last",
        "Time from the first to the last work on the GPU.",
        lambda row: units.duration(row.span_ns),
        4,
    ),
    figure("kernels", "Number of kernels.", lambda row: units.count(row.kernels), 1),
    figure(
        "kernel time",
        "Sum of the times of kernels. Kernels of several streams overlap, so it may be more than busy.",
        lambda row: units.duration(row.kernel_ns),
        2,
    ),
    figure("copies", "Number of copies and fills.", lambda row: units.count(row.copies), 3),
    figure("copy time", "Sum of the times of copies and fills.", lambda row: units.duration(row.copy_ns), 5),
    figure("copied", "Bytes that were copied.", lambda row: units.size(row.copied_bytes), 3),
    figure("streams", "Number of streams that were used.", lambda row: units.count(row.streams), 6),
    text("model", "Name of the device.", lambda row: row.name or "", 7, shown=lambda row: row.name),
)
_NUMBER: Head[Sequence[DeviceRow]] = figure(
    "GPU",
    "Number of the device.",
    lambda row: units.ABSENT if row.device is None else str(row.device),
    style="bold",
)

GPUS = Section(
    "gpus",
    (GpuFindings,),
    devices,
    device_tables,
    titles=("GPUs",),
    guide="gpu",
    means="The work of each GPU, and how long it was busy.",
    heads=(_NUMBER, _OF_WALL, *_COLUMNS),
    json={"gpu": "Totals of all work recorded on GPUs.", "devices": "The section *gpus*."},
)
