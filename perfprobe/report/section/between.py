"""The table of time between operators: the program's own Python, numpy, input, waiting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.rows.between import IntervalRow, interval_rows
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.named import OF_TABLE, is_named
from perfprobe.report.section.block import Block, Column, Heading, Table
from perfprobe.report.section.figures import figures
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
    yield Table(_columns(rows, is_block=findings.trace.recording.fact("program", "is_block") is True))


def _said(found: Between, shown: int, wall_ns: int | None) -> str:
    share = f"{units.percent(found.total_ns / wall_ns)} of wall, " if wall_ns else ""
    where = " on the busiest thread" if found.threads > 1 else ""
    rows = len(found.rows)
    places = "1 place" if rows == 1 else f"{rows:,} places"
    some = f"{shown:,} of {places}" if shown < rows else places
    return f"{share}{units.duration(found.total_ns)}{where}; {some} by time"


def _columns(rows: Sequence[IntervalRow], *, is_block: bool) -> list[Column]:
    places, least = _places(rows, is_block=is_block)
    means = (units.duration(row.mean_ns) if row.count > 1 else "" for row in rows)
    return [
        figures("of wall", (units.percent(row.share) for row in rows), style="bold"),
        figures("total", (units.duration(row.total_ns) for row in rows)),
        figures("times", (units.count(row.count) for row in rows), 2),
        figures("mean", means, 5),
        figures("longest", (units.duration(row.longest_ns) for row in rows), 4),
        Column(
            "from line to line",
            places,
            least=least,
            wish=least + 12,
            shorten=cut_function,
            style="cyan",
        ),
        *_doing_column(rows),
    ]


def _doing_column(rows: Sequence[IntervalRow]) -> Iterator[Column]:
    """Yields what samples show most in each row; no column without samples."""
    cells = [_doing(row) for row in rows]
    if any(cells):
        yield Column("mostly, by samples", cells, 3, least=20, wish=28)


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
