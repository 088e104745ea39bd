"""The table of copies to, from and on GPUs, and of fills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.copies import CopyRow, copied, copy_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.gpu.cells import (
    LAUNCHED_BY,
    MEAN,
    line_head,
    operator_head,
    phase_head,
    rows_said,
    sorted_by,
    total_head,
)
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

TOP = 8
_LEAST_RATE = 0.01  # GB/s; lower rates are shown as less than this
_WAYS = {True: "async", False: "sync", None: ""}


def copy_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`copies`."""
    return {"copies": copy_rows(findings, choice.top or 0).rows}


def copies(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table; nothing if nothing was copied."""
    found = copy_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    whole = ", ".join(f"{units.size(size_bytes)} {direction}" for direction, size_bytes in copied(findings))
    said = rows_said(findings, found, sorted_by(choice, "copies"))
    yield Heading("GPU copies", f"{said}; in all {whole}")
    yield Table(columns(_COLUMNS, found.rows))
    if any(row.host_memory == "pageable" for row in found.rows):
        yield Paragraph(
            "Pageable: the driver copies it through pinned memory of its own, and the calling thread waits; "
            "pinned memory (pin_memory, non_blocking=True) avoids both.",
            "dim",
        )
    yield from _of_images(found.rows)


def _of_images(rows: Sequence[CopyRow]) -> Iterator[Block]:
    """How much of the copies could be bytes in place of floats."""
    size_bytes = sum(row.image_bytes for row in rows)
    if size_bytes > 0:
        yield Paragraph(
            f"{units.size(size_bytes)} are images of floats. As uint8, converted on the GPU, those of "
            "float32 are a quarter.",
            "dim",
        )


def _rate(rate: float | None) -> str:
    return f"<{_LEAST_RATE}" if rate is not None and 0 <= rate < _LEAST_RATE else units.amount(rate)


def _way(row: CopyRow) -> str:
    """The kind of memory of the host, and whether the call returned before the copy was done."""
    memory = (row.host_memory or "").replace("_", " ")
    return " ".join(filter(None, (memory, _WAYS[row.is_async]))) or units.ABSENT


_COLUMNS: tuple[Head[Sequence[CopyRow]], ...] = (
    total_head("Sum of the copies' times on the GPU. + if some have no time."),
    figure("copies", "Number of copies.", lambda row: units.count(row.copies), 2),
    figure("mean", MEAN, lambda row: units.duration(row.mean_ns), 7),
    figure("bytes", "Bytes that were copied.", lambda row: units.size(row.size_bytes), 1),
    figure("GB/s", "bytes divided by total, in 10^9 bytes a second.", lambda row: _rate(row.bytes_per_ns), 1),
    text("direction", "Source and destination; fill is a memset.", lambda row: row.direction, style="bold"),
    text(
        "how",
        "Memory of the host (pageable or pinned), and whether the call returned before the copy ended.",
        _way,
        1,
    ),
    operator_head(LAUNCHED_BY, lambda row: row.operator),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at),
)

COPIES = Section(
    "copies",
    (GpuFindings,),
    copies,
    copy_tables,
    titles=("GPU copies",),
    guide="gpu",
    means="Copies to, from and on GPUs, and fills, with direction, bytes and rate.",
    heads=_COLUMNS,
    json={"copies": "The section *copies*."},
)
