"""The table of time between operators: the program's own Python, numpy, input, waiting."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import RenderableType

from perfprobe.report import shorten
from perfprobe.report.render import columns
from perfprobe.report.render.columns import Column
from perfprobe.report.render.paragraph import heading
from perfprobe.report.section.base import Layout
from perfprobe.report.section.cells import cut_function
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Between, Findings, Intervals
from perfprobe.tables.trace import Line, Trace

TOP = 5
NOTEWORTHY = 0.02  # of the wall time

_NO_PLACE = "(no line of Python in common)"


def between(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table; nothing where operators follow each other closely, or there are none."""
    found, wall_ns = findings[Between], findings.wall_ns
    if found.threads == 0 or found.total_ns < NOTEWORTHY * (wall_ns or 0):
        return
    shown = found.rows.take(found.rows.total_ns > 0).take(slice(layout.most(TOP) or None))
    yield heading("Between operators", _said(found, len(shown), wall_ns), layout.width)
    yield columns.table(columns.fit(_columns(findings.trace, found, shown, wall_ns), layout.width))


def _said(found: Between, shown: int, wall_ns: int | None) -> str:
    share = f"{units.percent(found.total_ns / wall_ns)} of wall, " if wall_ns else ""
    where = " on the busiest thread" if found.threads > 1 else ""
    rows = len(found.rows)
    places = "1 place" if rows == 1 else f"{rows:,} places"
    some = f"{shown:,} of {places}" if shown < rows else places
    return f"{share}{units.duration(found.total_ns)}{where}; {some} by time"


def _columns(trace: Trace, found: Between, shown: Intervals, wall_ns: int | None) -> list[Column]:
    is_block = trace.recording.fact("program", "is_block") is True
    before = "(until the first operator)" if is_block else "(until the first operator: start, imports)"
    whole = [
        (name, time_ns)
        for name, time_ns in (
            (before, found.before_ns),
            ("(after the last operator)", found.after_ns),
        )
        if time_ns  # neither unknown nor nothing
    ]
    totals_ns = [*(time_ns for _, time_ns in whole), *shown.total_ns.tolist()]
    counts = [*(1 for _ in whole), *shown.count.tolist()]
    longest_ns = [*(time_ns for _, time_ns in whole), *shown.longest_ns.tolist()]
    means = [
        units.duration(total_ns / count) if count > 1 else ""
        for total_ns, count in zip(totals_ns, counts, strict=True)
    ]
    places, least = _places(trace, shown)
    return [
        Column(
            "of wall",
            [units.percent(total_ns / wall_ns if wall_ns else None) for total_ns in totals_ns],
            align="right",
            style="bold",
        ),
        Column("total", [units.duration(total_ns) for total_ns in totals_ns], align="right"),
        Column("times", [units.count(count) for count in counts], 2, align="right"),
        Column("mean", means, 5, align="right"),
        Column("longest", [units.duration(time_ns) for time_ns in longest_ns], 4, align="right"),
        Column(
            "from line to line",
            [*(name for name, _ in whole), *places],
            least=least,
            wish=least + 12,
            shorten=cut_function,
            style="cyan",
        ),
    ]


def _places(trace: Trace, shown: Intervals) -> tuple[list[str], int]:
    """`train.py:40 -> 44 in main` for each row, and as many cells as the longest takes up to the function."""
    of_row = [
        [trace.line(frame) for frame in frames]
        for frames in zip(shown.frame.tolist(), shown.to_frame.tolist(), shown.caller.tolist(), strict=True)
    ]
    names = shorten.file_names([printable(line.file) for lines in of_row for line in lines if line])
    cells = [_cell(names, *lines) for lines in of_row]
    return cells, max(
        (cell_len(part.partition(" in ")[0]) for cell in cells for part in cell.split("\n")), default=8
    )


def _cell(names: dict[str, str], line: Line | None, to_line: Line | None, caller: Line | None) -> str:
    if line is None or to_line is None:
        return _NO_PLACE
    place = f"{names[printable(line.file)]}:{line.line}"
    onward = f" -> {to_line.line}" if to_line.line != line.line else ""
    text = f"{place}{onward} in {printable(line.function)}"
    if caller is None or to_line.line > line.line or line.function == "<module>":
        return text
    # Not onward: in a loop, or the function returned and was called again.
    by = f"{names[printable(caller.file)]}:{caller.line} in {printable(caller.function)}"
    return f"{text}\nor between calls at {by}"
