"""The table of waits: where the program was blocked until a GPU was done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.waits import WaitRow, wait_rows
from perfprobe.report.section.block import Block, Column, Heading, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import operator_column, rows_said, site_columns, sorted_by
from perfprobe.support import units
from perfprobe.support.text import printable
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
    yield Table(_columns(found.rows, has_shares=bool(findings.wall_ns)))


def _in_all(findings: Findings) -> str:
    waited_ns = findings[GpuFindings].program_waited_ns
    share = f" ({units.percent(waited_ns / findings.wall_ns)} of wall)" if findings.wall_ns else ""
    return f"{units.duration(waited_ns)}{share}"


def _columns(rows: Sequence[WaitRow], *, has_shares: bool) -> list[Column]:
    shares = figures("of wall", (units.percent(row.share) for row in rows), style="bold")
    calls = [units.ABSENT if row.call is None else printable(row.call) for row in rows]
    return [
        *([shares] if has_shares else []),
        figures("total", (units.duration(row.total_ns) for row in rows)),
        figures("waits", (units.count(row.waits) for row in rows), 2),
        figures("mean", (units.duration(row.mean_ns) for row in rows), 6),
        figures("longest", (units.duration(row.longest_ns) for row in rows), 7),
        Column("waited for", [_KINDS.get(row.kind or "", _UNKNOWN) for row in rows], 1, style="bold"),
        Column("call", calls, 5, least=10, wish=14),
        operator_column([(row.operator, None) for row in rows]),
        *site_columns([row.at for row in rows]),
    ]
