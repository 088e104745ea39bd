"""The table of copies to, from and on GPUs, and of fills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.copies import CopyRow, copied, copy_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import (
    operator_column,
    rows_said,
    site_columns,
    sorted_by,
    total_column,
)
from perfprobe.support import units
from perfprobe.tables.findings import Findings

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
    yield Table(_columns(found.rows))
    if any(row.host_memory == "pageable" for row in found.rows):
        yield Paragraph(
            "Pageable: the driver copies it through pinned memory of its own, and the calling thread waits; "
            "pinned memory (pin_memory, non_blocking=True) avoids both.",
            "dim",
        )


def _columns(rows: Sequence[CopyRow]) -> list[Column]:
    return [
        total_column(rows),
        figures("copies", (units.count(row.copies) for row in rows), 2),
        figures("mean", (units.duration(row.mean_ns) for row in rows), 7),
        figures("bytes", (units.size(row.size_bytes) for row in rows), 1),
        figures("GB/s", (_rate(row.bytes_per_ns) for row in rows), 1),
        Column("direction", [row.direction for row in rows], style="bold"),
        Column("how", [_way(row) for row in rows], 1),
        operator_column([(row.operator, None) for row in rows]),
        *site_columns([row.at for row in rows]),
    ]


def _rate(rate: float | None) -> str:
    return f"<{_LEAST_RATE}" if rate is not None and 0 <= rate < _LEAST_RATE else units.amount(rate)


def _way(row: CopyRow) -> str:
    """The kind of memory of the host, and whether the call returned before the copy was done."""
    memory = (row.host_memory or "").replace("_", " ")
    return " ".join(filter(None, (memory, _WAYS[row.is_async]))) or units.ABSENT
