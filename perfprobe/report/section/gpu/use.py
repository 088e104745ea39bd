"""How well each GPU was used in the steps, by the TensorBoard plugin's definitions and by ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.use import UseRow, part_rows, use_rows
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
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
        yield Table(_columns(rows))
        known = any(row.sm_efficiency is not None for row in rows)
        yield Paragraph(_NOTE if known else _NO_SIZES, "dim")
        yield Blank()
    parts = [row for row in part_rows(findings) if row.step is None]
    yield Table(
        [
            Column("GPUs", [row.part for row in parts], style="bold"),
            figures("time of a step", (units.duration(row.time_ns) for row in parts)),
            figures("of step", (units.percent(row.percentage) for row in parts)),
        ]
    )


def steps_text(found: GpuUse) -> str:
    """A text that says which steps the figures cover."""
    if not found.has_steps:
        return "no steps: from the first to the last operator"
    number = len(found.steps)
    return f"{number:,} {'step' if number == 1 else 'steps'}, each to the end of its last kernel or copy"


def _columns(rows: Sequence[UseRow]) -> list[Column]:
    return [
        figures("GPU", (str(row.device) for row in rows), style="bold"),
        figures("steps", (units.duration(row.span_ns) for row in rows), 3),
        figures("utilization", (units.percent(row.utilization) for row in rows)),
        figures("busy", (units.percent(row.busy) for row in rows), 2),
        figures("SM efficiency", (units.percent(row.sm_efficiency) for row in rows)),
        figures("est. occupancy", (units.percent(row.plugin_occupancy) for row in rows), 1),
        figures("occupancy", (units.percent(row.occupancy) for row in rows)),
        figures("tensor cores", (units.percent(row.tensor_cores) for row in rows)),
        figures("plugin's list", (units.percent(row.plugin_tensor_cores) for row in rows), 1),
    ]
