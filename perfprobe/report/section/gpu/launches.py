"""The tables of launches: by stream, by operator and line, and the queue over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.gpu.launches import LaunchedRow, launch_stream_rows, launched_rows, queue_rows
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.section.gpu.cells import operator_column, rows_said, site_columns, sorted_by
from perfprobe.support import units
from perfprobe.tables.findings import Findings

TOP = 8
_PARTS = 10  # the line about a stream's queue has this many parts of its time


def launch_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`launched`, by operator and line, `stream_launches`, and `queue_lengths` over time."""
    return {
        "launched": launched_rows(findings, choice.top or 0).rows,
        "stream_launches": launch_stream_rows(findings),
        "queue_lengths": queue_rows(findings),
    }


def launches(findings: Findings, choice: Choice) -> Iterator[Block]:
    """All three tables; nothing if no launch is known."""
    found = launched_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    said = rows_said(findings, found, sorted_by(choice, "launches"))
    streams = [row.values for row in launch_stream_rows(findings)]
    number, short = (sum(row[name] or 0 for row in streams) for name in ("launches", "short"))
    in_all = f"{units.count(number)} launches, {units.count(short)} of short work"
    yield Heading("Launches", f"{said}; in all {in_all}")
    yield Table(_columns(found.rows))
    if findings.focus is None:
        yield Table(_stream_columns(streams[:TOP]))
        yield from _over_time(findings, streams[0])


def _columns(rows: Sequence[LaunchedRow]) -> list[Column]:
    return [
        figures("in calls", (units.duration(row.total_ns) for row in rows), style="bold"),
        figures("launches", (units.count(row.launches) for row in rows)),
        figures("short", (units.count(row.short) for row in rows)),
        figures("GPU time", (units.duration(row.gpu_ns) for row in rows)),
        figures("mean delay", (units.duration(row.mean_delay_ns) for row in rows), 3),
        figures("longest delay", (units.duration(row.longest_delay_ns) for row in rows), 6),
        operator_column([(row.operator, None) for row in rows]),
        *site_columns([row.at for row in rows]),
    ]


def _stream_columns(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    def part(row: Mapping[str, Any], name: str) -> str:
        return units.percent(row[name] / row["span_ns"]) if row["span_ns"] else units.ABSENT

    return [
        figures("GPU", (str(row["device"]) for row in rows)),
        figures("stream", (str(row["stream"]) for row in rows), style="bold"),
        figures("launches", (units.count(row["launches"]) for row in rows)),
        figures("short", (units.count(row["short"]) for row in rows)),
        figures("long calls", (units.count(row["long_calls"]) for row in rows), 3),
        figures("delayed", (units.count(row["delayed"]) for row in rows), 3),
        figures("median call", (units.duration(row["call_ns"]) for row in rows), 2),
        figures("median delay", (units.duration(row["delay_ns"]) for row in rows), 1),
        figures("p95 delay", (units.duration(row["p95_delay_ns"]) for row in rows), 4),
        figures("mean queue", (_mean(row) for row in rows)),
        figures("longest queue", (units.count(row["most"]) for row in rows), 2),
        figures("queue empty", (part(row, "empty_ns") for row in rows)),
        figures("queue full", (part(row, "full_ns") for row in rows), 5),
        figures("launch-bound", (units.duration(row["bound_ns"]) for row in rows), 1),
        figures("longest", (units.count(row["most_bound"]) for row in rows), 5),
    ]


def _mean(row: Mapping[str, Any], span_ns: int | None = None) -> str:
    span_ns = row["span_ns"] if span_ns is None else span_ns
    return f"{row['queued_ns'] / span_ns:.1f}" if span_ns else units.ABSENT


def _over_time(findings: Findings, stream: Mapping[str, Any]) -> Iterator[Block]:
    """The mean queue of the busiest stream, in ten parts of its time."""
    rows = [row.values for row in queue_rows(findings)]
    own = [row for row in rows if (row["device"], row["stream"]) == (stream["device"], stream["stream"])]
    size = len(own) // _PARTS
    if not size or not stream["span_ns"]:
        return
    means = []
    for first in range(0, size * _PARTS, size):
        part = own[first : first + size]
        span_ns = part[-1]["end_ns"] - part[0]["start_ns"]
        means.append(_mean({"queued_ns": sum(row["queued_ns"] for row in part)}, span_ns))
    yield Paragraph(
        f"Mean queue of stream {stream['stream']} in each tenth of its time: {', '.join(means)}.", "dim"
    )
