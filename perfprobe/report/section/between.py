"""The table of time between operators: the program's own Python, numpy, input, waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.rows.between import IntervalRow, interval_rows
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.named import OF_TABLE, is_named
from perfprobe.report.section.block import Block, Column, Head, Heading, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.section.lines import cut_function
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.between import Between
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line

TOP = 5

_NO_PLACE = "(no line of Python in common)"
_START = "(until the first operator: start, imports)"
_BLOCK_START = "(until the first operator)"
_END = "(after the last operator)"


def interval_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`between`."""
    return {"between": interval_rows(findings, choice.top or 0)}


def between(findings: Findings, choice: Choice) -> Iterator[Block]:
    """The table; nothing if hardly any time passes between operators, or without operators."""
    found, wall_ns = findings[Between], findings.wall_ns
    if found.threads == 0 or not is_named(found.total_ns, wall_ns or 0, OF_TABLE):
        return
    rows = [row for row in interval_rows(findings, choice.most(TOP)) if row.total_ns]
    if not rows:
        return  # no row is in focus
    shown = sum(row.kind == "between" for row in rows)
    yield Heading("Between operators", _said(found, shown, wall_ns))
    places = _places(rows, is_block=findings.trace.recording.fact("program", "is_block") is True)
    yield Table([*columns(_TIMES, rows), _PLACE.make(places), *columns([_SAMPLED], rows)])


def _said(found: Between, shown: int, wall_ns: int | None) -> str:
    share = f"{units.percent(found.total_ns / wall_ns)} of wall, " if wall_ns else ""
    where = " on the busiest thread" if found.threads > 1 else ""
    rows = len(found.rows)
    places = "1 place" if rows == 1 else f"{rows:,} places"
    some = f"{shown:,} of {places}" if shown < rows else places
    return f"{share}{units.duration(found.total_ns)}{where}; {some} by time"


def _doing(row: IntervalRow) -> str:
    if row.doing is None:
        return ""
    form = {"import": "imports {}", "wait": "waits in {}", "run": "{}"}[row.doing]
    text = form.format(printable(row.doing_in or "a module"))
    return f"{units.percent(row.doing_share)} {text}"


def _places(rows: Sequence[IntervalRow], *, is_block: bool) -> tuple[list[str], int]:
    """`train.py:40 -> 44 in main` for each row, and the greatest number of characters up to the function."""
    lines = [line for row in rows for line in (row.line, row.to, row.caller) if line is not None]
    names = shorten.file_names([printable(line.file) for line in lines])
    outer = {"start": _BLOCK_START if is_block else _START, "end": _END}
    cells = [outer.get(row.kind) or _cell(names, row.line, row.to, row.caller) for row in rows]
    between = [cell for cell, row in zip(cells, rows, strict=True) if row.kind == "between"]
    return cells, max(
        (cell_len(part.partition(" in ")[0]) for cell in between for part in cell.split("\n")), default=8
    )


def _cell(names: dict[str, str], line: Line | None, to_line: Line | None, caller: Line | None) -> str:
    if line is None or to_line is None:
        return _NO_PLACE
    place = f"{names[printable(line.file)]}:{line.line}"
    onward = f" -> {to_line.line}" if to_line.line != line.line else ""
    text = f"{place}{onward} in {printable(line.function)}"
    if caller is None or to_line.line > line.line or line.function == "<module>":
        return text
    # A later operator at an earlier line: in a loop, or the function returned and was called again.
    by = f"{names[printable(caller.file)]}:{caller.line} in {printable(caller.function)}"
    return f"{text}\nor between calls at {by}"


_TIMES: tuple[Head[Sequence[IntervalRow]], ...] = (
    figure("of wall", "Share of the wall time.", lambda row: units.percent(row.share), style="bold"),
    figure(
        "total",
        "Time on the busiest thread between these two lines, without operators.",
        lambda row: units.duration(row.total_ns),
    ),
    figure("times", "How often this happened.", lambda row: units.count(row.count), 2),
    figure("mean", "Mean duration.", lambda row: units.duration(row.mean_ns) if row.count > 1 else "", 5),
    figure("longest", "Longest duration.", lambda row: units.duration(row.longest_ns), 4),
)
_PLACE: Head[tuple[Sequence[str], int]] = Head(
    "from line to line",
    "Line of the last operator before, and line of the first operator after. If the second line is not below "
    "the first, this is a loop or the next call of the function.",
    lambda of: Column(
        "from line to line", of[0], least=of[1], wish=of[1] + 12, shorten=cut_function, style="cyan"
    ),
)
_SAMPLED: Head[Sequence[IntervalRow]] = text(
    "mostly, by samples",
    "What most samples in that time show.",
    _doing,
    3,
    shown=_doing,
    least=20,
    wish=28,
)

BETWEEN = Section(
    "between",
    (Between,),
    between,
    interval_tables,
    titles=("Between operators",),
    means="Time on the busiest thread without operators, by the lines before and after it: Python, numpy, "
    "reading files, waiting. Together with the outermost operators this is the whole wall time.",
    heads=(*_TIMES, _PLACE, _SAMPLED),
    json={
        "between": "The section *between*.",
    },
)
