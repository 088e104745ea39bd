"""Cells that several tables have: durations, lines of code, modules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.section.block import Column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int8, Int32, Int64, Mask
from perfprobe.tables.findings import HotspotRows, Hotspots, ModulePart
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Trace

_MOST_EMPTY_NS = 100_000
_STANDS_OUT = 2  # times its fair share of a row's self time
_STANDS_OUT_OF_TWO = 0.75  # where twice the fair share would be all of it


MARK = "~"  # beside sums that a few calls make mislead


class HasLines(Protocol):
    """Rows with lines of the user's code: frame ids, -1 none, and a `Gap` that says why."""

    @property
    def frame(self) -> Int32:
        """Of its own Python."""

    @property
    def forward_frame(self) -> Int32:
        """Of the forward call."""

    @property
    def gap(self) -> Int8:
        """Why there is no frame."""


def durations(times_ns: Int64, least_ns: Int64 | int = 0) -> list[str]:
    """A cell for each time; -1 is not measured, less than `least_ns` cannot be told."""
    least = np.broadcast_to(least_ns, len(times_ns)).tolist()
    return [
        units.duration(None if time_ns < 0 else time_ns, at_least)
        for time_ns, at_least in zip(times_ns.tolist(), least, strict=True)
    ]


def unless_zero(cells: Sequence[str]) -> list[str]:
    """The durations without those of none at all: an empty cell is read faster."""
    return ["" if cell == "0 ns" else cell for cell in cells]


def least_ns(trace: Trace) -> int:
    """What the record of a call shows in which nothing happens: below it nothing is told. 0: not known."""
    value = trace.recording.number("cost", "empty_ns")
    return math.ceil(value) if value is not None and 0 < value < _MOST_EMPTY_NS else 0


def counts(values: Int64) -> list[str]:
    """A cell for each whole number."""
    return [units.count(value) for value in values.tolist()]


def percents(parts: Int64, whole: Int64 | int) -> list[str]:
    """A cell for each part of the whole; -1 is not measured."""
    fractions = parts / np.maximum(whole, 1)
    return [units.percent(fraction if fraction >= 0 else None) for fraction in fractions.tolist()]


def duration_columns(trace: Trace, shown: HotspotRows) -> list[Column]:
    """How long a call took: mean, median and 95th percentile."""
    least = least_ns(trace)
    return [
        Column("mean", durations(shown.mean_ns, least), 7, align="right"),
        Column("median", durations(shown.median_ns, least), 5, align="right"),
        Column("p95", durations(shown.p95_ns, least), 9, align="right"),
    ]


def marked(cells: list[str], hotspots: Hotspots, shown: HotspotRows) -> list[str]:
    """The cells with a mark behind those that a few calls make mislead, and a blank behind the others."""
    marks = misleading(hotspots, shown).tolist()
    if not any(marks):
        return cells
    return [cell + (MARK if mark else " ") for cell, mark in zip(cells, marks, strict=True)]


def misleading(hotspots: Hotspots, shown: HotspotRows) -> Mask:
    """Rows that a few long calls make mislead; only where all calls of a row do the same work."""
    return np.asarray((shown.long_calls > 0) & (hotspots.group in ("row", "signature")))


def cpu_column(shown: HotspotRows) -> Column:
    """CPU time; where no shown row has any, the first column to give way."""
    return Column("cpu", durations(shown.cpu_ns), 4 if bool((shown.cpu_ns >= 0).any()) else 8, align="right")


def line_column(trace: Trace, shown: HasLines, function: int = 6) -> Column:
    """Where the rows are in the user's code: `file.py:88 in attention`, the place itself never cut.

    function: cells that the function should have while there are columns that may give way.
    """
    lines = _Lines(trace, shown)
    return Column(
        "line",
        lines.cells,
        least=lines.least,
        wish=lines.least + function,
        shorten=cut_function,
        style="cyan",
    )


def places(trace: Trace, shown: HasLines) -> list[str]:
    """`file.py:88` of each row as the line column has it; empty where there is none."""
    return _Lines(trace, shown).own


class _Lines:
    """The cells of the line column: `file.py:88 in attention`.

    Where Python ran in backward, its own line with that of the forward call below it; where there is no line,
    the reason.
    """

    def __init__(self, trace: Trace, shown: HasLines) -> None:
        own = [trace.line(frame) for frame in shown.frame.tolist()]
        forward = [trace.line(frame) for frame in shown.forward_frame.tolist()]
        self._names = shorten.file_names(
            [printable(line.file) for line in [*own, *forward] if line is not None]
        )
        self._places: list[str] = []  # `file.py:88`, never cut
        self.cells = [
            self._cell(line, other, Gap(gap))
            for line, other, gap in zip(own, forward, shown.gap.tolist(), strict=True)
        ]
        self.own = ["" if line is None else self._place(line) for line in own]
        self.least = max((cell_len(place) for place in self._places), default=8)

    def _cell(self, own: Line | None, forward: Line | None, gap: Gap) -> str:
        if own is None:
            return f"({GAP_TEXTS[gap]})"
        if forward is None or forward == own:
            return self._text("", own)
        return f"{self._text('', own)}\n{self._text('forward ', forward)}"

    def _text(self, before: str, line: Line) -> str:
        place = f"{before}{self._place(line)}"
        self._places.append(place)
        return f"{place} in {printable(line.function)}"

    def _place(self, line: Line) -> str:
        return f"{self._names[printable(line.file)]}:{line.line}"


def cut_function(text: str, width: int) -> str:
    """A line's text, `file.py:88 in attention`, with the function's name cut only."""
    place, word, function = text.partition(" in ")
    room = width - cell_len(place) - len(word)
    if not word or room >= cell_len(function):
        return shorten.cut(text, width)
    return f"{place}{word}{shorten.cut(function, room)}" if room >= 3 else place


def module_column(hotspots: Hotspots, shown: HotspotRows) -> Column:
    """The module of each row; of several what they have in common, or the one that stands out."""
    cells = [
        printable(_module_cell(hotspots.module(module), hotspots.parts_of(shown, at)))
        for at, module in enumerate(shown.module.tolist())
    ]
    rank = 6 if any(cell != units.ABSENT for cell in cells) else 10
    return Column("module", cells, rank, least=12, wish=18, shorten=_shortened_module)


def _module_cell(common: str | None, parts: Sequence[ModulePart]) -> str:
    if len(parts) <= 1:
        return common or units.ABSENT
    first = parts[0]
    share = first.self_ns / max(sum(part.self_ns for part in parts), 1)
    if share > min(_STANDS_OUT / len(parts), _STANDS_OUT_OF_TWO):
        return f"{first.module or units.ABSENT} {units.percent(share)} of {len(parts)}"
    if common is not None and set(common) > set("*."):
        return f"{common} ({len(parts)})"
    in_order = [part.module or units.ABSENT for part in sorted(parts, key=lambda part: part.id)]
    if len(parts) == 2:
        return ", ".join(in_order)
    return f"{in_order[0]},{shorten.ELLIPSIS},{in_order[-1]} ({len(parts)})"


def _shortened_module(text: str, width: int) -> str:
    """Cuts the path only, not what is said about how many there are."""
    path, blank, rest = text.partition(" ")
    room = width - cell_len(blank + rest)
    if cell_len(text) <= width or room < 3:
        return shorten.cut(text, width)
    return f"{shorten.cut(path, room)}{blank}{rest}"
