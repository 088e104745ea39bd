"""Columns of figures that several tables have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from perfprobe.report.rows.operators import Calls
from perfprobe.report.section.block import Column
from perfprobe.support import units
from perfprobe.tables.recording import Recording

MARK = "~"  # beside sums dominated by outliers
_MOST_EMPTY_NS = 100_000


def figures(title: str, cells: Iterable[str], rank: int = 0, style: str = "", role: str = "") -> Column:
    """A column of numbers, right-aligned."""
    return Column(title, list(cells), rank, align="right", style=style, role=role)


def marked(cells: Sequence[str], marks: Sequence[bool]) -> list[str]:
    """The cells, some with the mark and the others with a blank after them; unchanged without any marks."""
    if not any(marks):
        return list(cells)
    return [cell + (MARK if mark else " ") for cell, mark in zip(cells, marks, strict=True)]


def unless_zero(time_ns: int | None) -> str:
    """The duration, empty for 0, which is easier to read."""
    return "" if time_ns == 0 else units.duration(time_ns)


def least_ns(recording: Recording) -> int:
    """The measurement floor in ns: the recorded time of an empty operator; 0 if not known."""
    value = recording.number("cost", "empty_ns")
    return math.ceil(value) if value is not None and 0 < value < _MOST_EMPTY_NS else 0


def duration_columns(rows: Sequence[Calls], least: int) -> list[Column]:
    """Returns how long a call took: mean, median and 95th percentile."""
    return [
        figures("mean", (units.duration(row.whole_mean_ns, least) for row in rows), 7),
        figures("median", (units.duration(row.median_ns, least) for row in rows), 5),
        figures("p95", (units.duration(row.p95_ns, least) for row in rows), 9),
    ]


def cpu_column(rows: Sequence[Calls]) -> Column:
    """CPU time. If no row has any, it is the first column to be dropped."""
    times_ns = [row.recorded["cpu_ns"] for row in rows]
    rank = 8 if all(time_ns is None for time_ns in times_ns) else 4
    return figures("cpu", map(units.duration, times_ns), rank)
