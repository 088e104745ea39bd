"""How well each GPU was used in the steps, by the TensorBoard plugin's definitions and by ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.use import PartRow, UseRow, part_rows, use_rows
from perfprobe.report.section.block import Blank, Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_use import GpuUse

_NOTE = (
    "utilization: a kernel ran; busy: a kernel or a copy. SM efficiency and occupancy are estimates from "
    "grid, block, registers and shared memory, not measured. est. occupancy is Kineto's, which is 0 for "
    "blocks with more than 48 KiB of shared memory; occupancy counts them. Tensor cores are found by names "
    "of kernels."
)
_NO_SIZES = "Without sizes of launches, or facts about the GPU, there is no SM efficiency and no occupancy."


def use_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_use`, and `gpu_parts` of the average step and of each."""
    return {"gpu_use": use_rows(findings), "gpu_parts": part_rows(findings)}


def use(findings: Findings, _: Choice) -> Iterator[Block]:
    """A row for each GPU, then the kinds of use in an average step."""
    rows = use_rows(findings)
    yield Heading("GPU use", steps_text(findings[GpuUse]))
    if rows:
        yield Table(columns(_COLUMNS, rows))
        known = any(row.sm_efficiency is not None for row in rows)
        yield Paragraph(_NOTE if known else _NO_SIZES, "dim")
        yield Blank()
    yield Table(columns(_PARTS, [row for row in part_rows(findings) if row.step is None]))


def steps_text(found: GpuUse) -> str:
    """A text that says which steps the figures cover."""
    if not found.has_steps:
        return "no steps: from the first to the last operator"
    number = len(found.steps)
    return f"{number:,} {'step' if number == 1 else 'steps'}, each to the end of its last kernel or copy"


_COLUMNS: tuple[Head[Sequence[UseRow]], ...] = (
    figure("GPU", "Number of the device.", lambda row: str(row.device), style="bold"),
    figure(
        "steps",
        "From the start of the first step to the end of the last.",
        lambda row: units.duration(row.span_ns),
        3,
    ),
    figure(
        "utilization",
        "Share of that time during which at least one kernel ran: the plugin's GPU Utilization.",
        lambda row: units.percent(row.utilization),
    ),
    figure(
        "busy",
        "Share of that time during which at least one kernel, copy or fill ran.",
        lambda row: units.percent(row.busy),
        2,
    ),
    figure(
        "SM efficiency",
        "Mean share of multiprocessors with at least one block of a kernel, over that time including idle "
        "time: the plugin's Est. SM Efficiency.",
        lambda row: units.percent(row.sm_efficiency),
    ),
    figure(
        "est. occupancy",
        "The plugin's Est. Achieved Occupancy: how full of threads multiprocessors are while kernels run, by "
        "Kineto's estimate. Kineto counts blocks with over 48 KiB of shared memory as 0.",
        lambda row: units.percent(row.plugin_occupancy),
        1,
    ),
    figure(
        "occupancy",
        "The same as computed by NVIDIA's cuda_occupancy.h, for all kernels.",
        lambda row: units.percent(row.occupancy),
    ),
    figure(
        "tensor cores",
        "Share of the time of kernels that operators launched in the whole recording: kernels whose names "
        "show that they use tensor cores (Volta to Blackwell) or matrix cores (AMD GPUs). Kernels of Triton "
        "do not count, because their names do not show it.",
        lambda row: units.percent(row.tensor_cores),
    ),
    figure(
        "plugin's list",
        "The same by the plugin's list of names, which dates from 2020.",
        lambda row: units.percent(row.plugin_tensor_cores),
        1,
    ),
)
_PARTS: tuple[Head[Sequence[PartRow]], ...] = (
    text(
        "GPUs",
        "What the GPUs did. Each moment counts once: *computing* means that a kernel ran that does not "
        "communicate, whatever else ran; *idle* means that nothing ran on any GPU.",
        lambda row: row.part,
        style="bold",
    ),
    figure("time of a step", "Mean over the steps.", lambda row: units.duration(row.time_ns)),
    figure("of step", "Share of the mean step.", lambda row: units.percent(row.percentage)),
)

GPU_USE = Section(
    "gpu-use",
    (GpuUse,),
    use,
    use_tables,
    titles=("GPU use",),
    guide="gpu",
    means="How well steps used each GPU, by the TensorBoard plugin's definitions, and idle time.",
    heads=(*_COLUMNS, *_PARTS),
    json={
        "gpu_use": "The section *gpu-use*: each GPU.",
        "gpu_parts": "The section *gpu-use*: what the GPUs did in a step.",
    },
)
