"""The tables of launches: by stream, by operator and line, and the queue over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.described import described_rows
from perfprobe.report.rows.gpu.launches import LaunchedRow, launched_rows
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.gpu.cells import (
    STREAM,
    line_head,
    operator_head,
    phase_head,
    rows_said,
    sorted_by,
)
from perfprobe.report.section.heads import TableRows, columns, figure, of_table
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.launch_times import LaunchTimes, StreamLaunches

TOP = 8
_PARTS = 10  # the line about a stream's queue has this many parts of its time


def launch_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`launched`, by operator and line, `stream_launches`, and `queue_lengths` over time."""
    return {
        "launched": launched_rows(findings, choice.top or 0).rows,
        "stream_launches": described_rows(findings, findings[LaunchTimes].streams),
        "queue_lengths": described_rows(findings, findings[LaunchTimes].queues),
    }


def launches(findings: Findings, choice: Choice) -> Iterator[Block]:
    """All three tables; nothing if no launch is known."""
    found = launched_rows(findings, choice.most(TOP), choice.sort)
    if not found.rows:
        return
    said = rows_said(findings, found, sorted_by(choice, "launches"))
    streams = [row.values for row in described_rows(findings, findings[LaunchTimes].streams)]
    number, short = (sum(row[name] or 0 for row in streams) for name in ("launches", "short"))
    in_all = f"{units.count(number)} launches, {units.count(short)} of short work"
    yield Heading("Launches", f"{said}; in all {in_all}")
    yield Table(columns(_LAUNCHED, found.rows))
    if findings.focus is None:
        yield Table(columns(_STREAMS, streams[:TOP]))
        yield from _over_time(findings, streams[0])


def _mean(row: Mapping[str, Any], span_ns: int | None = None) -> str:
    span_ns = row["span_ns"] if span_ns is None else span_ns
    return units.tenths(row["queued_ns"] / span_ns) if span_ns else units.ABSENT


def _part(row: Mapping[str, Any], name: str) -> str:
    return units.percent(row[name] / row["span_ns"]) if row["span_ns"] else units.ABSENT


def _over_time(findings: Findings, stream: Mapping[str, Any]) -> Iterator[Block]:
    """The mean queue of the busiest stream, in ten parts of its time."""
    rows = [row.values for row in described_rows(findings, findings[LaunchTimes].queues)]
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


_LAUNCHES = "Number of launches of kernels, copies, fills and CUDA graphs."
_SHORT = "Number of launches that took longer than the work they launched, and at most 50 us."
_LAUNCHED: tuple[Head[Sequence[LaunchedRow]], ...] = (
    figure(
        "in calls", "Time in the launching calls.", lambda row: units.duration(row.total_ns), style="bold"
    ),
    figure("launches", _LAUNCHES, lambda row: units.count(row.launches)),
    figure("short", _SHORT, lambda row: units.count(row.short)),
    figure("GPU time", "Time on the GPU of the launched work.", lambda row: units.duration(row.gpu_ns)),
    figure(
        "mean delay",
        "Mean time from the end of the call to the start of its work; 0 if the work began earlier.",
        lambda row: units.duration(row.mean_delay_ns),
        3,
    ),
    figure("longest delay", "Longest of these times.", lambda row: units.duration(row.longest_delay_ns), 6),
    operator_head("Operator that launched it.", lambda row: row.operator),
    line_head(lambda row: row.at),
    phase_head(lambda row: row.at),
)
_STREAMS: tuple[Head[TableRows], ...] = (
    *STREAM,
    of_table(StreamLaunches, "launches", means=_LAUNCHES),
    of_table(StreamLaunches, "short", means=_SHORT),
    of_table(StreamLaunches, "long_calls", means="Number of calls of more than 50 us.", rank=3),
    of_table(
        StreamLaunches,
        "delayed",
        means="Number of launches with more than 100 us between the call and the start of the work.",
        rank=3,
    ),
    of_table(StreamLaunches, "call_ns", "median call", rank=2),
    of_table(
        StreamLaunches,
        "delay_ns",
        "median delay",
        "Median time from the end of the call to the start of its work.",
        1,
    ),
    of_table(StreamLaunches, "p95_delay_ns", means="95th percentile of these times.", rank=4),
    figure("mean queue", "Mean number of launches that waited for their work to begin.", _mean),
    of_table(StreamLaunches, "most", "longest queue", "Largest number of waiting launches at one moment.", 2),
    figure(
        "queue empty",
        "Share of the time with an empty queue: the program did not launch ahead of the GPU.",
        lambda row: _part(row, "empty_ns"),
    ),
    figure(
        "queue full",
        "Share of the time with 1,024 or more launches queued; CUDA then makes the program wait.",
        lambda row: _part(row, "full_ns"),
        5,
    ),
    of_table(
        StreamLaunches,
        "bound_ns",
        "launch-bound",
        "Time in stretches of five or more launches, each made after the work before had ended.",
        1,
    ),
    of_table(
        StreamLaunches, "most_bound", "longest", "Number of launches in the longest of these stretches.", 5
    ),
)

LAUNCHES = Section(
    "launches",
    (LaunchTimes,),
    launches,
    launch_tables,
    titles=("Launches",),
    guide="gpu",
    means="Calls that launch kernels, copies and fills: how long they take, how long it takes until the work "
    "begins, and how much work is queued.",
    heads=(*_LAUNCHED, *_STREAMS),
    json={
        "launched": "The section *launches*: by operator and line.",
        "stream_launches": "The section *launches*: by stream.",
        "queue_lengths": "The queue of each stream in 100 parts of its time.",
    },
)
