"""The table of GPU kernels: the longest ones, and what launched them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.kernels import KernelRow, kernel_rows, kernel_time_ns
from perfprobe.report.section.block import Block, Column, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.gpu.cells import (
    LAUNCHED_BY,
    LONGEST,
    MEAN,
    PART,
    line_head,
    operator_column,
    operator_text,
    phase_head,
    rows_said,
    sorted_by,
    total_head,
)
from perfprobe.report.section.gpu.names import cut_middle, kernel_names, shortened
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.section.lines import line_column
from perfprobe.support import units
from perfprobe.support.pattern import pattern
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

TOP = 15
_LONGEST_NAME = 60  # characters, in a sentence
_DEVICE = pattern(r"@cuda:\d+")
_NO_NAME = "(unknown)"
GRAPH = "(graph)"


def kernel_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`kernels`."""
    return {"kernels": kernel_rows(findings, choice.top or 0).rows}


def kernels(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table and notes on its rows; nothing if no kernel ran."""
    found = kernel_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    shown_ns = sum(row.total_ns or 0 for row in found.rows)
    share = units.percent(shown_ns / max(kernel_time_ns(findings), 1))
    said = rows_said(findings, found, sorted_by(choice, "kernels"))
    launch = _LAUNCH if choice.columns == "all" else ()
    yield Heading("GPU kernels", f"{said}, {share} of kernel time")
    yield Table(columns((*_FIRST, *launch, *_LAST), found.rows))
    notes = list(_notes(findings[GpuFindings], found.rows))
    if notes:
        yield Paragraph(" ".join(notes), "dim")


def hottest_kernel(findings: Findings) -> Iterator[Block]:
    """Name, operator, line, phase and share of the kernel with most time."""
    for row in kernel_rows(findings, 1).rows:
        if not row.total_ns:
            return
        kernel = cut_middle(shortened(row.name or _NO_NAME), _LONGEST_NAME)
        (place,) = line_column([replace(row.at, forward=None)]).cells
        where = f"{place}, {row.at.phase}: {units.percent(row.share)} of kernel time."
        text, brief = (f"Hottest kernel: {kernel}{_by(row, brief=brief)}, {where}" for brief in (False, True))
        yield Paragraph(text, "bold", brief=brief)


def _by(row: KernelRow, *, brief: bool) -> str:
    """Returns what launched it."""
    if _is_node(row):
        return " by a CUDA graph"
    operator = operator_text(row.operator, row.overload, brief=brief)
    return "" if operator == units.ABSENT else f" by {operator}"


def _is_node(row: KernelRow) -> bool:
    """Whether it is of a CUDA graph, and not known of which operator in it."""
    return row.is_graph and row.operator is None


def _family(row: KernelRow) -> str:
    """The kernel's family, and the wrapper that it works for: `NCCL of DDP`."""
    return (row.family or "") + (f" of {row.wrapper}" if row.wrapper else "")


def _launch(row: KernelRow) -> str:
    """Grid and block of the longest kernel: how many blocks, and how many threads in each."""
    blocks, threads = 1, 1
    for axis in "xyz":
        grid, block = row.launch[f"grid_{axis}"], row.launch[f"block_{axis}"]
        if grid is None or block is None:
            return units.ABSENT
        blocks, threads = blocks * grid, threads * block
    return f"{blocks:,} x {threads:,}"


def _names(rows: Sequence[KernelRow]) -> list[str]:
    names = kernel_names(
        [row.name or _NO_NAME for row in rows],
        [(row.operator, row.overload, row.signature, row.at) for row in rows],
    )
    return [f"{GRAPH} {name}" if _is_node(row) else name for name, row in zip(names, rows, strict=True)]


def _signatures(rows: Sequence[KernelRow]) -> list[str]:
    texts = without_device([row.signature for row in rows])
    return [units.ABSENT if text is None else shorten.signature(printable(text)) for text in texts]


def without_device(signatures: Sequence[str | None]) -> list[str | None]:
    """The signatures without `@cuda:0`, if that is their only device."""
    devices = {device for text in signatures if text is not None for device in _DEVICE.findall(text)}
    if len(devices) != 1:
        return list(signatures)
    return [None if text is None else _DEVICE.sub("", text) for text in signatures]


def _notes(gpu: GpuFindings, rows: Sequence[KernelRow]) -> Iterator[str]:
    if any(row.untimed for row in rows):
        yield (
            f"{PART} kernels without a time are missing; {units.count(gpu.untimed)} records in all have none."
        )
    if any(_is_node(row) for row in rows):
        yield (
            f"{GRAPH}: by launches of CUDA graphs ({units.count(gpu.graph_launches)}), at the line shown; "
            "which operator each kernel belongs to is not known."
        )
    if gpu.exact > 0:
        yield (
            f"{units.count(gpu.exact)} calls were linked by the operator's number (--gpu-links exact); by "
            f"time {units.count(gpu.disagreements)} of them would be another operator's."
        )
    if gpu.unlinked > 0:
        yield f"Of {units.count(gpu.unlinked)} kernels and copies the starting call is not known."


_FIRST: tuple[Head[Sequence[KernelRow]], ...] = (
    figure("share", "Share of the time of all kernels.", lambda row: units.percent(row.share), style="bold"),
    total_head("Sum of the kernels' times. + if some have no time."),
    figure("kernels", "Number of kernels.", lambda row: units.count(row.kernels), 2),
    figure("mean", MEAN, lambda row: units.duration(row.mean_ns), 6),
    figure("least", "Shortest duration.", lambda row: units.duration(row.least_ns), 8),
    figure("most", LONGEST, lambda row: units.duration(row.most_ns), 7),
)
_LAUNCH: tuple[Head[Sequence[KernelRow]], ...] = (
    figure(
        "blocks x threads", "Launch of the longest one: number of blocks, and threads of a block.", _launch, 4
    ),
    figure(
        "registers",
        "Registers of a thread of the longest one.",
        lambda row: units.count(row.launch["registers"]),
        8,
    ),
    figure(
        "shared",
        "Shared memory of a block of the longest one.",
        lambda row: units.size(row.sizes.shared_bytes),
        8,
    ),
    figure(
        "blocks/SM",
        "Blocks of the longest one per multiprocessor. Below 1, some multiprocessors have none.",
        lambda row: units.hundredths(row.sizes.blocks_per_sm),
        7,
    ),
    figure(
        "theoretical",
        "Theoretical occupancy of the longest one: the share of a multiprocessor's threads that it can use, "
        "given its registers, shared memory and block size.",
        lambda row: units.percent(row.sizes.theoretical_occupancy),
        7,
    ),
    figure(
        "occupancy",
        "The occupancy that the longest one can reach: theoretical, or less if it has few blocks.",
        lambda row: units.percent(row.sizes.occupancy),
        4,
    ),
    text(
        "family",
        "Origin of the kernel: NCCL (of DDP, of FSDP, or the program's own), inductor, Triton, cuBLAS, "
        "cuDNN, CUTLASS, FlashAttention, torch and others; empty if the name does not show it.",
        _family,
        6,
    ),
    text(
        "TC",
        "yes: its name shows that it uses tensor cores.",
        lambda row: "yes" if row.sizes.tensor_cores else "",
        4,
    ),
)
_LAST: tuple[Head[Sequence[KernelRow]], ...] = (
    Head(
        "kernel",
        "Name without namespaces, parameters and plain template arguments. `(graph)` marks kernels that a "
        "CUDA graph launched.",
        lambda rows: Column("kernel", _names(rows), least=12, wish=22, style="bold", shorten=cut_middle),
    ),
    Head(
        "operator",
        LAUNCHED_BY,
        lambda rows: operator_column([(row.operator, row.overload) for row in rows]),
    ),
    Head(
        "signature",
        "What that operator was called with.",
        lambda rows: Column("signature", _signatures(rows), 5, least=12, wish=20),
    ),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at),
)

KERNELS = Section(
    "kernels",
    (GpuFindings,),
    kernels,
    kernel_tables,
    titles=("GPU kernels",),
    guide="gpu",
    means="The kernels with most time, with their operator and line.",
    heads=(*_FIRST, *_LAUNCH, *_LAST),
    json={"kernels": "The section *kernels*."},
)
