"""A picture of a long run: step times over the time of day, and the slow steps with their lines."""

from __future__ import annotations

import importlib
import math
from datetime import datetime, timezone
from typing import Any

from perfprobe.report.picture.figure import drawn
from perfprobe.report.rows.kept import SlowStepRow, cause_rows, course_rows, slow_step_rows
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
    with drawn(path, 12, 5) as figure:
        axes = figure.add_subplot()
        at = [_time(each) for row in rows for each in (row.start_s, row.end_s, row.end_s)]
        medians = [each for row in rows for each in (row.median_ns / _MS_NS,) * 2 + (math.nan,)]
        beyond = [each for row in rows for each in (row.p95_ns / _MS_NS,) * 2 + (math.nan,)]
        axes.fill_between(at, medians, beyond, color="#56B4E9", alpha=0.4, lw=0, label="median to p95")
        axes.plot(at, medians, color="#0072B2", lw=2, label="median")
        _slow(axes, slow_step_rows(findings))
        axes.set_ylabel("duration of a step, ms")
        axes.set_ylim(bottom=0)
        dates: Any = importlib.import_module("matplotlib.dates")
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        steps = sum(row.steps for row in rows)
        median = units.duration(findings[KeptRun].median_ns)
        name = printable(program(findings.trace))[:_LONGEST_TITLE]
        figure.suptitle(f"{name}: {steps:,} steps, median {median}")


def _slow(axes: Any, rows: list[SlowStepRow]) -> None:
    """Draw a point for each slow step, in the color of its line."""
    lines = [cause.line for cause in cause_rows(rows) if cause.line is not None][:_MOST_LINES]
    groups = [(place(line), [row for row in rows if row.line == line]) for line in lines]
    groups.append(("slow, other lines", [row for row in rows if row.line not in lines]))
    for (label, own), color in zip(groups, (*_COLORS[: len(lines)], _OTHER), strict=True):
        if own:
            times = [_time(row.start_s) for row in own]
            took = [row.time_ns / _MS_NS for row in own]
            axes.scatter(times, took, s=18, color=color, label=f"{label} ({len(own):,})", zorder=3)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc).astimezone()
