"""The tables of Paddle's profiler about kernels and communication."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.peers.paddle import DistributionRow, KernelRow, distribution_rows, kernel_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.section.peers.summary import name_head, of_steps
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes

_TOP = 20
_NOTE = (
    "Communication: collectives on the host, and kernels that communicate. Computation: other kernels. "
    "Overlap: both at the same time."
)


def kernel_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_kernel`, if there is any."""
    rows = kernel_rows(findings, choice.top or 0)
    return {"paddle_kernel": rows} if rows else {}


def kernels(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Kernels by name, most time first."""
    rows = kernel_rows(findings, choice.most(_TOP))
    if rows:
        yield Heading("Kernel Summary", of_steps(findings))
        yield Table(columns(_KERNEL, rows))


def distribution_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`paddle_distributed`, if anything communicated."""
    rows = distribution_rows(findings)
    return {"paddle_distributed": rows} if rows else {}


def distribution(findings: Findings, _: Choice) -> Iterator[Block]:
    """Communication, computing, and how much of both is at the same time."""
    rows = distribution_rows(findings)
    if rows:
        yield Heading("Distribution Summary", of_steps(findings))
        yield Table(columns(_DISTRIBUTION, rows))
        yield Paragraph(_NOTE, "dim")


_KERNEL: tuple[Head[Sequence[KernelRow]], ...] = (
    name_head("Name", "Name of the kernel.", lambda row: row.name),
    figure("Calls", "How often it ran.", lambda row: units.count(row.calls)),
    figure("GPU Total", "Sum of its durations.", lambda row: units.duration(row.gpu_total_ns)),
    figure("GPU Avg", "GPU Total divided by Calls.", lambda row: units.duration(row.gpu_avg_ns), 2),
    figure("GPU Max", "The longest one.", lambda row: units.duration(row.gpu_max_ns), 3),
    figure("GPU Min", "The shortest one.", lambda row: units.duration(row.gpu_min_ns), 4),
    figure("Ratio", "Share of the time of all kernels.", lambda row: units.percent(row.gpu_ratio)),
)
_DISTRIBUTION: tuple[Head[Sequence[DistributionRow]], ...] = (
    text(
        "Name",
        "**ProfileStep**: the steps. **Communication**: collectives on the host, and kernels that "
        "communicate. **Computation**: other kernels. **Overlap**: both at the same time.",
        lambda row: row.name,
        style="bold",
    ),
    figure("Total Time", "Time during which at least one was open.", lambda row: units.duration(row.time_ns)),
    figure("Ratio", "Share of the steps' time.", lambda row: units.percent(row.ratio)),
)

PADDLE_KERNEL = Section(
    "paddle.kernel",
    (PeerTimes,),
    kernels,
    kernel_tables,
    titles=("Kernel Summary",),
    guide="peers",
    means="Kernels that the steps launched, by name.",
    heads=_KERNEL,
    json={"paddle_kernel": "The view *paddle.kernel*."},
)
PADDLE_DISTRIBUTED = Section(
    "paddle.distributed",
    (PeerTimes,),
    distribution,
    distribution_tables,
    titles=("Distribution Summary",),
    guide="peers",
    means="How long communication and computing took in the steps, and both at the same time.",
    heads=_DISTRIBUTION,
    json={"paddle_distributed": "The view *paddle.distributed*."},
)
