"""The table of idle time: what kept each GPU waiting, by cause and line; and the gaps of each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.idle import IdleRow, idle_rows, stream_rows
from perfprobe.report.rows.row import Values
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import operator_column, rows_said, site_columns, sorted_by
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.idle import IdleTimes

TOP = 8
_UNKNOWN = "nothing known"
_CAUSES = {
    "data": "data loading",
    "compile": "compile",
    "collection": "garbage collection",
    "allocator": "allocator",
    "sync": "synchronising call",
    "pageable_copy": "pageable copy",
    "operators": "operators on the host",
    "python": "Python between launches",
    "launch": "launch",
    "between_kernels": "between kernels",
}


def idle_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`gpu_idle`, by cause and line, and `stream_idle`, by stream."""
    rows = idle_rows(findings, choice.top or 0).rows
    return {"gpu_idle": rows, "stream_idle": stream_rows(findings)}


def idle(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Both tables; nothing without gaps."""
    found = idle_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    said = rows_said(findings, found, sorted_by(choice, "gaps"))
    yield Heading("GPU idle", f"{said}; {_in_all(findings)}")
    yield Table(_columns(found.rows))
    if findings.focus is None:
        yield from _streams(stream_rows(findings))


def cause_text(cause: str | None) -> str:
    """The cause in words."""
    return _CAUSES.get(cause or "", _UNKNOWN)


def _in_all(findings: Findings) -> str:
    rows = findings[IdleTimes].rows
    return f"idle {units.duration(int(rows.total_ns.sum()))} between first and last work"


def _columns(rows: Sequence[IdleRow]) -> list[Column]:
    devices = {row.device for row in rows}
    calls = [units.ABSENT if row.call is None else printable(row.call) for row in rows]
    a_step = figures("a step", (units.duration(row.step_ns) for row in rows), style="bold")
    return [
        *([figures("GPU", (str(row.device) for row in rows))] if len(devices) > 1 else []),
        figures("of idle", (units.percent(row.share) for row in rows), style="bold"),
        figures("idle", (units.duration(row.total_ns) for row in rows)),
        *([a_step] if any(row.step_ns is not None for row in rows) else []),
        figures("gaps", (units.count(row.gaps) for row in rows), 3),
        figures("longest", (units.duration(row.longest_ns) for row in rows), 7),
        Column("while the host", [cause_text(row.cause) for row in rows], 1, style="bold"),
        Column("call", calls, 5, least=10, wish=14),
        operator_column([(row.operator, None) for row in rows]),
        *site_columns([row.at for row in rows]),
    ]


def _streams(rows: Sequence[Values]) -> Iterator[Block]:
    """The gaps of streams by the kinds of HolisticTraceAnalysis."""
    cells = [row.values for row in rows[:TOP]]
    yield Table(
        [
            figures("GPU", (str(cell["device"]) for cell in cells)),
            figures("stream", (str(cell["stream"]) for cell in cells), style="bold"),
            figures("gaps", (units.count(cell["gaps"]) for cell in cells)),
            figures("host wait", (units.duration(cell["host_wait_ns"]) for cell in cells)),
            figures("kernel wait", (units.duration(cell["kernel_wait_ns"]) for cell in cells)),
            figures("other wait", (units.duration(cell["other_ns"]) for cell in cells)),
        ]
    )
    yield Paragraph(
        "Gaps of a stream. Host wait: the next work was launched after the gap began; kernel wait: it was "
        "queued, and the gap is shorter than 30 us.",
        "dim",
    )
