"""Slow steps of a long run with their causes, and step times over the run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.baseline import added_text, baseline_rows, untraced_text
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.kept import (
    CauseRow,
    CourseRow,
    DriftRow,
    SlowStepRow,
    cause_rows,
    course_rows,
    drift_rows,
    slow_step_rows,
)
from perfprobe.report.rows.own_cost import watching_cost
from perfprobe.report.section.block import Block, Column, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.shorten import cut, place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Totals
from perfprobe.tables.kept import KeptRun
from perfprobe.tables.live_steps import Baseline

_COURSE = 12  # rows
_MOST_SHOWN = 20
_LONGEST_NAME = 20
_MOST_CUT = 3
_CUT = "recording"  # as in `Losses.source`
_WAITING = "waiting for a processor"  # as in `More.what`
_NO_STEPS = (
    "No steps were found: the program uses neither a DataLoader, nor an optimizer, nor perfprobe.step(). "
    "Only sums of operators are recorded."
)


def slow_steps(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The slowest steps, the lines of slow steps, step times over the run, drift, and cost."""
    rows, run = slow_step_rows(findings), findings[KeptRun]
    steps = sum(each.steps for part in run.parts for each in part.stretches)
    kept = sum(row.is_kept for row in rows)
    said = f"{kept:,} kept of {steps:,} steps; median of all {units.duration(run.median_ns)}"
    yield Heading("Slow steps", said)
    if not steps:
        yield Paragraph(_NO_STEPS, "yellow")
    elif not rows:
        yield Paragraph("No step was slow compared with the steps before it.")
    else:
        # A busy machine makes steps wait at any line: those that took longer by themselves come first.
        shown = sorted(rows, key=lambda row: -_own_ns(row))[: choice.top or _MOST_SHOWN]
        yield Table(columns(_SLOW, shown))
        yield from _left(rows, len(shown))
    course = course_rows(findings, _COURSE)
    if len(course) > 1:
        yield Heading("Course", "of step times")
        yield Table(columns(_OF_COURSE, course))
    for drifted in drift_rows(findings):
        yield Paragraph(_drift(drifted), "yellow" if drifted.is_clear and drifted.change > 0 else "")
    yield from _lost(run)
    yield from _cost(findings)


def slow_step_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`slow_steps`, `slow_step_lines`, `step_course` and `step_drift`, all of them."""
    rows = slow_step_rows(findings)
    return {
        "slow_steps": rows,
        "slow_step_lines": cause_rows(rows),
        "step_course": course_rows(findings),
        "step_drift": drift_rows(findings),
    }


def _own_ns(row: SlowStepRow) -> int:
    return row.more_ns - dict(row.causes).get(_WAITING, 0)


def _line(row: SlowStepRow) -> str:
    if row.line is None:
        return units.ABSENT if row.is_kept else "not kept"
    name = printable(row.operator or "").removeprefix("aten::")
    operator = f" {cut(name, _LONGEST_NAME)}" if name else ""
    return f"{place(row.line)} {units.duration(row.line_ns)}{operator}"


def _causes(row: SlowStepRow) -> str:
    texts = [f"{what} {units.duration(more_ns)}" for what, more_ns in row.causes[:1]]
    return ", ".join(texts + (["partly kept"] if row.is_partial else [])) or units.ABSENT


def _phases(row: SlowStepRow) -> str:
    return ", ".join(f"{what} {units.duration(more_ns)}" for what, more_ns in row.phases[:2]) or units.ABSENT


def _left(rows: Sequence[SlowStepRow], shown: int) -> Iterator[Paragraph]:
    """Yields how many steps are not shown, and the lines that several slow steps share."""
    if len(rows) > shown:
        yield Paragraph(f"{len(rows) - shown:,} more slow steps: --top, or --json.", "dim")
    own = [row for row in rows if 2 * _own_ns(row) > row.more_ns]
    if len(own) < len(rows):
        said = f"{len(rows) - len(own):,} of {len(rows):,} mostly waited for a processor, at any line"
        yield Paragraph(f"{said}: other processes or threads had it.", "yellow")
    causes = [cause for cause in cause_rows(own) if cause.line is not None and cause.steps > 1][:3]
    if causes:
        texts = [
            f"{cause.steps:,} at {place(cause.line)}{_again(cause)}, {units.duration(cause.more_ns)} together"
            for cause in causes
            if cause.line is not None
        ]
        yield Paragraph(f"By line: {'; '.join(texts)}.")


def _again(cause: CauseRow) -> str:
    return "" if cause.every is None else f" every {cause.every:,} steps"


def _beginnings(rows: Sequence[CourseRow]) -> list[str]:
    """The time of day, of a long run with the date."""
    is_short = rows[-1].end_s - rows[0].start_s < 600
    return [_clock(row.start_s, seconds=is_short) for row in rows]


def _clock(time_s: float, *, seconds: bool) -> str:
    return time.strftime("%H:%M:%S" if seconds else "%d %b %H:%M", time.localtime(time_s))


def _drift(row: DriftRow) -> str:
    first, last = units.duration(row.first_ns), units.duration(row.last_ns)
    change = f"{units.change(row.change)} %"
    medians = f"median {first} in the first fifth of the time, {last} in the last ({change})"
    if row.own_change is not None:
        own = f"{units.duration(row.own_first_ns)} and {units.duration(row.own_last_ns)}"
        medians += f"; without waiting for a processor, mean {own} ({units.change(row.own_change)} %)"
    if not row.is_clear:
        return f"No drift of the program: {medians}."
    lines = [
        f"{printable(file).rpartition('/')[2]}:{line} {'+' if ns > 0 else '-'}{units.duration(abs(ns))}"
        for file, line, ns in row.lines
    ]
    by = f" By line: {', '.join(lines)} a step." if lines else ""
    return f"Drift: {medians}.{by}"


def _lost(run: KeptRun) -> Iterator[Paragraph]:
    """Names the files that are incomplete, and says how many other losses there are."""
    cut = [loss for loss in run.losses if loss.source == _CUT]
    others = {(loss.source, loss.reason) for loss in run.losses if loss.source != _CUT}
    for loss in cut[:_MOST_CUT]:
        name = printable(loss.path).rpartition("/")[2]
        yield Paragraph(f"Incomplete: {name}: {printable(loss.reason)}.", "yellow")
    if others:
        yield Paragraph(f"Not recorded: {len(others):,}: `perfprobe report FILE --view missing`.", "dim")


def _cost(findings: Findings) -> Iterator[Paragraph]:
    for row in baseline_rows(findings):
        said = f"{untraced_text(row)}; recording added {added_text(row)}, by {row.pairs:,} pairs."
        yield Paragraph(f"{said[0].upper()}{said[1:]}")
        return
    cost = watching_cost(findings)
    if cost is None:
        said = "This file does not have the program's end, so the cost of recording is not known."
        yield Paragraph(f"{said} `--baseline 20` measures it.", "dim")
    elif cost.running_ns is not None:
        share = "" if cost.share is None else f", {units.percent(cost.share)} of the program's CPU time"
        said = f"Recording cost at least {units.duration(cost.running_ns)} of CPU time{share} (estimate)."
        yield Paragraph(f"{said} `--baseline 20` measures it.", "dim")


_SLOW: tuple[Head[Sequence[SlowStepRow]], ...] = (
    figure("step", "Number of the step, counted from 0.", lambda row: units.count(row.step), style="bold"),
    text("at", "Time of day at which it began.", lambda row: _clock(row.start_s, seconds=True), 3),
    figure("took", "Duration of the step.", lambda row: units.duration(row.time_ns)),
    figure(
        "more",
        "How much longer it took than the median of all steps.",
        lambda row: units.duration(row.more_ns),
        2,
    ),
    text(
        "line with most of it",
        "The line that exceeds its time in an ordinary step the most, and by how much: by samples of the "
        "loop's thread, in short steps by operators. Then the operator with most of that time.",
        _line,
        style="cyan",
    ),
    text(
        "more of",
        "What took longer than in an ordinary step: waiting for data, waiting for a processor, garbage "
        "collection, running, or being blocked (anything else, such as a sleep, a lock or a disk).",
        _causes,
        1,
    ),
    text("in phase", "The phases that took longer.", _phases, 4),
)
_OF_COURSE: tuple[Head[Sequence[CourseRow]], ...] = (
    Head("from", "When this stretch of time began.", lambda rows: Column("from", _beginnings(rows))),
    figure("steps", "Number of steps.", lambda row: units.count(row.steps)),
    figure("median", "Median of their durations.", lambda row: units.duration(row.median_ns), style="bold"),
    figure("p95", "95th percentile of their durations.", lambda row: units.duration(row.p95_ns)),
    figure("max", "The longest.", lambda row: units.duration(row.max_ns)),
    figure("slow", "Number of slow steps.", lambda row: units.count(row.slow)),
)

SLOW_STEPS = Section(
    "slow-steps",
    (KeptRun,),
    slow_steps,
    slow_step_tables,
    shows=(Baseline, Totals),
    titles=("Slow steps", "Course"),
    guide="windows",
    means="The slow steps of a long run, what took longer in each of them, and how step times changed "
    "(`--keep slow`).",
    heads=(*_SLOW, *_OF_COURSE),
    json={
        "slow_steps": "The section *slow-steps*: slow steps, with what took longer in each.",
        "slow_step_lines": "The section *slow-steps*: lines whose time differs between slow and ordinary "
        "steps.",
        "step_course": "The section *slow-steps*: step times in stretches of the run.",
        "step_drift": "The section *slow-steps*: whether steps became slower or faster.",
    },
)
