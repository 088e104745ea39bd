"""The table of waits: where the program was blocked until a GPU was done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.waits import WaitRow, wait_rows
from perfprobe.report.section.block import Block, Head, Heading, Section, Table
from perfprobe.report.section.gpu.cells import (
    LONGEST,
    MEAN,
    absent,
    line_head,
    operator_head,
    phase_head,
    rows_said,
    sorted_by,
)
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

TOP = 8
_UNKNOWN = "unknown"
_KINDS = {
    "event": "an event",
    "stream_wait_event": "stream for an event",
    "stream": "a stream",
    "context": "the whole GPU",
    "pageable_copy": "a pageable copy",
}


def wait_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_waits`."""
    return {"gpu_waits": wait_rows(findings, choice.top or 0).rows}


def waits(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table; nothing without waits."""
    found = wait_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    said = rows_said(findings, found, sorted_by(choice, "waits"))
    yield Heading("GPU waits", f"{said}; the program waited {_in_all(findings)}")
    yield Table(columns(_COLUMNS, found.rows))


def _in_all(findings: Findings) -> str:
    waited_ns = findings[GpuFindings].program_waited_ns
    share = f" ({units.percent(waited_ns / findings.wall_ns)} of wall)" if findings.wall_ns else ""
    return f"{units.duration(waited_ns)}{share}"


_COLUMNS: tuple[Head[Sequence[WaitRow]], ...] = (
    figure(
        "of wall",
        "Share of the wall time.",
        lambda row: units.percent(row.share),
        shown=lambda row: row.share is not None,
        style="bold",
    ),
    figure("total", "Time that the program waited for a GPU.", lambda row: units.duration(row.total_ns)),
    figure("waits", "Number of waits.", lambda row: units.count(row.waits), 2),
    figure("mean", MEAN, lambda row: units.duration(row.mean_ns), 6),
    figure("longest", LONGEST, lambda row: units.duration(row.longest_ns), 7),
    text(
        "waited for",
        "A stream, an event, the whole GPU, or a copy from or to pageable memory.",
        lambda row: _KINDS.get(row.kind or "", _UNKNOWN),
        1,
        style="bold",
    ),
    text("call", "Function of CUDA's API.", lambda row: absent(row.call), 5, least=10, wish=14),
    operator_head("Operator that waited.", lambda row: row.operator),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at),
)

WAITS = Section(
    "waits",
    (GpuFindings,),
    waits,
    wait_tables,
    titles=("GPU waits",),
    guide="gpu",
    means="Calls in which the program waited for a GPU.",
    heads=_COLUMNS,
    json={"gpu_waits": "The section *waits*."},
)
