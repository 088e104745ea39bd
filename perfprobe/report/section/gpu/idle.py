"""The table of idle time: what kept each GPU waiting, by cause and line; and the gaps of each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.described import described_rows
from perfprobe.report.rows.gpu.idle import IdleRow, idle_rows
from perfprobe.report.rows.row import Values
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import (
    STREAM,
    absent,
    line_head,
    operator_head,
    phase_head,
    rows_said,
    sorted_by,
)
from perfprobe.report.section.heads import TableRows, columns, figure, of_table, text
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.idle import IdleTimes, StreamIdle

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
    return {"gpu_idle": rows, "stream_idle": described_rows(findings, findings[IdleTimes].streams)}


def idle(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Both tables; nothing without gaps."""
    found = idle_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    said = rows_said(findings, found, sorted_by(choice, "gaps"))
    yield Heading("GPU idle", f"{said}; {_in_all(findings)}")
    yield Table(columns(_COLUMNS, found.rows))
    if findings.focus is None:
        yield from _streams(described_rows(findings, findings[IdleTimes].streams))


def cause_text(cause: str | None) -> str:
    """The cause in words."""
    return _CAUSES.get(cause or "", _UNKNOWN)


def _in_all(findings: Findings) -> str:
    rows = findings[IdleTimes].rows
    return f"idle {units.duration(int(rows.total_ns.sum()))} between first and last work"


def _streams(rows: Sequence[Values]) -> Iterator[Block]:
    """The gaps of streams by the kinds of HolisticTraceAnalysis."""
    yield Table(columns(_STREAMS, [row.values for row in rows[:TOP]]))
    yield Paragraph(
        "Gaps of a stream. Host wait: the next work was launched after the gap began; kernel wait: it was "
        "queued, and the gap is shorter than 30 us.",
        "dim",
    )


_COLUMNS: tuple[Head[Sequence[IdleRow]], ...] = (
    Head(
        "GPU",
        "Number of the device.",
        lambda rows: figures("GPU", (str(row.device) for row in rows)),
        lambda rows: len({row.device for row in rows}) > 1,
    ),
    figure(
        "of idle", "Share of the idle time of the device.", lambda row: units.percent(row.share), style="bold"
    ),
    figure(
        "idle",
        "Time during which nothing ran on the GPU while the host did what the row says.",
        lambda row: units.duration(row.total_ns),
    ),
    figure(
        "a step",
        "Mean idle time of this kind in a steady step.",
        lambda row: units.duration(row.step_ns),
        shown=lambda row: row.step_ns is not None,
        style="bold",
    ),
    figure("gaps", "Number of gaps that contain some of it.", lambda row: units.count(row.gaps), 3),
    figure("longest", "Longest part of one gap.", lambda row: units.duration(row.longest_ns), 7),
    text(
        "while the host",
        "Activity of the host: data loading, garbage collection, compile, allocator (`cudaMalloc` and the "
        "like), operators on the host, Python between launches, launch (from the call until the kernel "
        "began, and other calls of CUDA). Synchronising call and pageable copy: the host had waited for the "
        "GPU, so nothing was queued when the GPU finished; this counts for at most as long as the host "
        "waited. Between kernels: short gaps before work that was queued.",
        lambda row: cause_text(row.cause),
        1,
        style="bold",
    ),
    text(
        "call",
        "Function of CUDA's API during which it happened.",
        lambda row: absent(row.call),
        5,
        least=10,
        wish=14,
    ),
    operator_head("Outermost operator there.", lambda row: row.operator),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at),
)
_STREAMS: tuple[Head[TableRows], ...] = (
    *STREAM,
    of_table(StreamIdle, "gaps", means="Number of gaps that contain some of it."),
    of_table(StreamIdle, "host_wait_ns", means="Gaps during which the next work was not launched yet."),
    of_table(StreamIdle, "kernel_wait_ns", means="Gaps of less than 30 us before work that was queued."),
    of_table(
        StreamIdle,
        "other_ns",
        "other wait",
        "All other gaps: work was queued but did not begin, for example behind another stream.",
    ),
)

IDLE = Section(
    "idle",
    (IdleTimes,),
    idle,
    idle_tables,
    titles=("GPU idle",),
    guide="gpu",
    means="Idle time of each GPU between its first and its last work, by what the host did meanwhile and at "
    "which line. Also the gaps of each stream, by kind.",
    heads=(*_COLUMNS, *_STREAMS),
    json={
        "gpu_idle": "The section *idle*: by cause and line.",
        "stream_idle": "The section *idle*: by stream.",
    },
)
