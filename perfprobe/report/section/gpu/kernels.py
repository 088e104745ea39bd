"""The table of GPU kernels: the longest ones, and what launched them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.kernels import KernelRow, kernel_rows, kernel_time_ns
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import (
    PART,
    operator_column,
    operator_text,
    rows_said,
    site_columns,
    sorted_by,
    total_column,
)
from perfprobe.report.section.gpu.names import cut_middle, kernel_names, shortened
from perfprobe.report.section.lines import line_column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

TOP = 15
_LONGEST_NAME = 60  # characters, in a sentence
_DEVICE = re.compile(r"@cuda:\d+")
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
    yield Heading("GPU kernels", f"{said}, {share} of kernel time")
    yield Table(_columns(found.rows, with_launches=choice.columns == "all"))
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
    if row.is_graph:
        return " by a CUDA graph"
    operator = operator_text(row.operator, row.overload, brief=brief)
    return "" if operator == units.ABSENT else f" by {operator}"


def _columns(rows: Sequence[KernelRow], *, with_launches: bool) -> list[Column]:
    return [
        figures("share", (units.percent(row.share) for row in rows), style="bold"),
        total_column(rows),
        figures("kernels", (units.count(row.kernels) for row in rows), 2),
        figures("mean", (units.duration(row.mean_ns) for row in rows), 6),
        figures("least", (units.duration(row.least_ns) for row in rows), 8),
        figures("most", (units.duration(row.most_ns) for row in rows), 7),
        *(_launch_columns(rows) if with_launches else []),
        Column("kernel", _names(rows), least=12, wish=22, style="bold", shorten=cut_middle),
        operator_column([(row.operator, row.overload) for row in rows]),
        Column("signature", _signatures(rows), 5, least=12, wish=20),
        *site_columns([row.at for row in rows]),
    ]


def _launch_columns(rows: Sequence[KernelRow]) -> list[Column]:
    return [
        figures("blocks x threads", map(_launch, rows), 4),
        figures("registers", (units.count(row.launch["registers"]) for row in rows), 8),
        figures("shared", (units.size(row.sizes.shared_bytes) for row in rows), 8),
        figures("blocks/SM", (_number(row.sizes.blocks_per_sm) for row in rows), 7),
        figures("theoretical", (units.percent(row.sizes.theoretical_occupancy) for row in rows), 7),
        figures("occupancy", (units.percent(row.sizes.occupancy) for row in rows), 4),
        Column("family", [_family(row) for row in rows], 6),
        Column("TC", ["yes" if row.sizes.tensor_cores else "" for row in rows], 4),
    ]


def _family(row: KernelRow) -> str:
    """The kernel's family, and the wrapper that it works for: `NCCL of DDP`."""
    return (row.family or "") + (f" of {row.wrapper}" if row.wrapper else "")


def _number(value: float | None) -> str:
    return units.ABSENT if value is None else f"{value:,.2f}"


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
    return [f"{GRAPH} {name}" if row.is_graph else name for name, row in zip(names, rows, strict=True)]


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
    if any(row.is_graph for row in rows):
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
