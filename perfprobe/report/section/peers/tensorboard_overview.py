"""The TensorBoard plugin's overview: the average step and the first steps by category, and each GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.peers.tensorboard import RoleRow, SummaryRow, role_rows, summary_rows
from perfprobe.report.section.block import Blank, Block, Column, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_use import GpuUse
from perfprobe.tables.peers import PeerTimes

_LONGEST_NAME = 24  # characters of a GPU's name
_STEPS = 5  # steps that are shown one by one
# Categories of single steps; the last are dropped first where there is little room.
_GIVES_WAY = ("CPU Exec", "Kernel", "DataLoader", "Other", "Runtime", "Communication", "Memcpy", "Memset")
_NOTE = (
    "Each moment counts for the first category, in the plugin's order, that is active on any thread. Python "
    "outside of operators and ranges is Other, and so is waiting for data without a DataLoader: see `--view "
    "phases`. Unlike in the plugin, calls of CUDA and ranges count also in traces of torch 1.12 and newer."
)


class _Part(NamedTuple):
    """A category in the average step, or all of that step."""

    category: str
    time_ns: float
    percentage: float


def overview_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`tb_overview`, and `tb_gpu_summary` if a GPU was recorded."""
    summary = summary_rows(findings)
    return {"tb_overview": role_rows(findings), **({"tb_gpu_summary": summary} if summary else {})}


def overview(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The average step, then the first steps."""
    rows = role_rows(findings)
    average = [row for row in rows if row.step is None]
    whole = _Part("Average Step Time", sum(row.time_ns for row in average), 1.0)
    steps = findings[PeerTimes].plugin_steps
    yield Heading("Step Time Breakdown", _steps_text(steps.number.tolist()))
    parts = [_Part(row.category, row.time_ns, row.percentage) for row in average]
    yield Table(columns(_PARTS, [whole, *parts]))
    numbers = list(dict.fromkeys(row.step for row in rows if row.step is not None))
    shown = numbers[: choice.most(_STEPS) or None]
    if len(numbers) > 1:
        yield Blank()
        yield Table(_by_step([row for row in rows if row.step in shown]))
    yield Paragraph(_NOTE, "dim")
    summary = summary_rows(findings)
    if summary:
        yield Heading("GPU Summary", "estimates, not measured")
        yield Table(_summary_columns(summary))


def _steps_text(numbers: Sequence[int]) -> str:
    """A text that says which steps these are."""
    if numbers == [-1]:
        return "no steps found: all operators as one step"
    return f"{len(numbers):,} {'step' if len(numbers) == 1 else 'steps'}, those of warm-up too"


def _summary_columns(rows: Sequence[SummaryRow]) -> list[Column]:
    """The plugin's list with a column for each GPU. The last GPUs may be dropped."""
    names = [printable(shorten.cut(row.name or units.ABSENT, _LONGEST_NAME)) for row in rows]
    facts = columns(_FACTS, rows)
    return [
        Column("", ["Name", *(fact.title for fact in facts)], style="bold"),
        *(
            figures(f"GPU {row.gpu}", [name, *(fact.cells[at] for fact in facts)], at)
            for at, (row, name) in enumerate(zip(rows, names, strict=True))
        ),
    ]


def _percent(share: float | None) -> str:
    """A percentage with as many digits as in the plugin."""
    return units.ABSENT if share is None else f"{units.hundredths(100 * share)} %"


def _by_step(rows: Sequence[RoleRow]) -> list[Column]:
    """A row for each step, a column for each category."""
    steps = _STEP.make(sorted({row.step for row in rows if row.step is not None}))
    cells: dict[str, list[str]] = {}
    for row in rows:
        cells.setdefault(row.category, []).append(units.duration(row.time_ns))
    return [steps, *(figures(title, own, _GIVES_WAY.index(title) + 1) for title, own in cells.items())]


_PARTS: tuple[Head[Sequence[_Part]], ...] = (
    text(
        "Category",
        "Each moment counts for the first of these that is active on any thread. **Kernel**: kernels on "
        "GPUs. **Memcpy**: copies on GPUs. **Memset**: fills on GPUs. **Communication**: kernels that "
        "communicate, and collectives. **Runtime**: calls of CUDA's API. **DataLoader**: the loader's `next`."
        " **CPU Exec**: operators and ranges. **Other**: the rest, such as Python outside of operators.",
        lambda part: part.category,
        style="bold",
    ),
    figure("Time Duration", "Mean time in a step.", lambda part: units.duration(part.time_ns)),
    figure("Percentage", "Share of the mean step.", lambda part: units.percent(part.percentage)),
)
_STEP: Head[Sequence[int]] = figure("Step", "Number of the step.", str, style="bold")
# Lines of the table, which has a column for each GPU.
_FACTS: tuple[Head[Sequence[SummaryRow]], ...] = (
    text("Memory", "Memory of the GPU.", lambda row: units.size(row.memory_bytes)),
    text(
        "Compute Capability",
        "NVIDIA's version number of the GPU's features.",
        lambda row: row.compute_capability or units.ABSENT,
    ),
    text(
        "GPU Utilization",
        "Share of the steps' time during which at least one kernel ran.",
        lambda row: _percent(row.gpu_utilization),
    ),
    text(
        "Est. SM Efficiency",
        "Mean share of multiprocessors with at least one block of a running kernel.",
        lambda row: _percent(row.est_sm_efficiency),
    ),
    text(
        "Est. Achieved Occupancy",
        "Estimated share of a multiprocessor's threads in use while kernels ran.",
        lambda row: _percent(row.est_achieved_occupancy),
    ),
    text(
        "Kernel Time using Tensor Cores",
        "Share of kernel time in kernels that the plugin lists by name.",
        lambda row: _percent(row.kernel_time_using_tensor_cores),
    ),
)

TB_OVERVIEW = Section(
    "tb.overview",
    (PeerTimes,),
    overview,
    overview_tables,
    shows=(GpuUse,),
    titles=("Step Time Breakdown", "GPU Summary"),
    guide="peers",
    means="The average step and the first steps, divided into the TensorBoard plugin's categories; with a "
    "GPU also its utilization.",
    heads=(*_PARTS, _STEP, *_FACTS),
    json={
        "tb_overview": "The view *tb.overview*: each step's categories; the average has no step.",
        "tb_gpu_summary": "The view *tb.overview*: GPU Summary.",
    },
)
