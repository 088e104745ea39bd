"""A picture of a long run: step times over the time of day, and the slow steps with their lines."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from perfprobe.report.picture.figure import drawn
from perfprobe.report.rows.kept import CourseRow, SlowStepRow, cause_rows, course_rows, slow_step_rows
from perfprobe.report.section.program import program
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.kept import KeptRun

_STRETCHES = 400
_MOST_LINES = 4
_COLORS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00")
_OTHER = "#777777"
_MS_NS = 1e6
_LONGEST_TITLE = 80
_MOST_BEYOND = 3  # times the highest median: a p95 beyond that leaves the picture


def draw(findings: Findings, path: str) -> None:
    """Draw it to a file, in the format of its ending: .png, .svg, .pdf.

    Raises:
        InputError: no steps were found.
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    rows = course_rows(findings, _STRETCHES)
    if not rows:
        where = findings.trace.recording.path
        raise InputError("there are no steps to draw", where, "run a program with steps")
    with drawn(path, 12, 6) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
        _slow(upper, slow_step_rows(findings))
        _ordinary(lower, rows)
        dates: Any = importlib.import_module("matplotlib.dates")
        lower.xaxis.set_major_formatter(dates.ConciseDateFormatter(lower.xaxis.get_major_locator()))
        for axes in (upper, lower):
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", color="#DDDDDD", lw=0.6)
        steps = sum(row.steps for row in rows)
        median = units.duration(findings[KeptRun].median_ns)
        name = printable(program(findings.trace))[:_LONGEST_TITLE]
        figure.suptitle(f"{name}: {steps:,} steps, median {median}")


def _ordinary(axes: Any, rows: Sequence[CourseRow]) -> None:
    """Draw the course of all steps from 0 on, so that drift is seen in proportion: slow steps stand apart."""
    at = [_time(each) for row in rows for each in (row.start_s, row.end_s, row.end_s)]

    def steps_of(values: Sequence[float | None]) -> list[float]:
        return [each for value in values for each in (_ms(value), _ms(value), math.nan)]

    medians, beyond = steps_of([row.median_ns for row in rows]), steps_of([row.p95_ns for row in rows])
    axes.fill_between(at, medians, beyond, color="#56B4E9", alpha=0.4, lw=0, label="median to p95")
    axes.plot(at, medians, color="#0072B2", lw=2, label="median")
    if any(row.own_ns is not None for row in rows):
        own = steps_of([row.own_ns for row in rows])
        label = "mean without waiting\nfor a processor"
        axes.plot(at, own, color="#000000", lw=1.2, label=label)
    axes.set_ylabel("duration of a step, ms")
    highest = max(max(row.median_ns, row.own_ns or 0) for row in rows) / _MS_NS
    axes.set_ylim(0, min(max(row.p95_ns for row in rows) / _MS_NS, _MOST_BEYOND * highest) * 1.05)


def _slow(axes: Any, rows: list[SlowStepRow]) -> None:
    """Draw a point for each slow step, in the color of its line, on an axis of powers of ten."""
    lines = [cause.line for cause in cause_rows(rows) if cause.line is not None][:_MOST_LINES]
    groups = [(place(line), [row for row in rows if row.line == line]) for line in lines]
    groups.append(("slow, other lines", [row for row in rows if row.line not in lines]))
    for (label, own), color in zip(groups, (*_COLORS[: len(lines)], _OTHER), strict=True):
        if own:
            times = [_time(row.start_s) for row in own]
            took = [row.time_ns / _MS_NS for row in own]
            axes.scatter(times, took, s=18, color=color, label=f"{label} ({len(own):,})", zorder=3)
    if rows:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: units.plain(value))
        axes.yaxis.set_minor_formatter(lambda value, _: _if_round(value))
    axes.set_ylabel("slow steps, ms")


def _if_round(value: float) -> str:
    """Label 2 and 5 between powers of ten: the others would overlap."""
    text = units.plain(value)
    return text if text.strip("0.") in ("2", "5") else ""


def _ms(time_ns: float | None) -> float:
    return math.nan if time_ns is None else time_ns / _MS_NS


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc).astimezone()
