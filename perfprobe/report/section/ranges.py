"""The tables of ranges: parts of the program named by it, by torch or by another library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.operators import Calls, RangeRow, range_rows
from perfprobe.report.rows.ranges import (
    NamedRangeRow,
    by_library,
    named_range_rows,
    named_ranges_in_focus,
    ranked_named,
)
from perfprobe.report.rows.ranking import focus_text, range_sort, rows_shown
from perfprobe.report.section.block import Blank, Block, Column, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import cpu_column, duration_columns, figures, least_ns, unless_zero
from perfprobe.report.section.lines import line_column
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.ranges import RangeRows

TOP = 5  # few, because programs that name every step have thousands
TOP_OF_LIBRARIES = 4
_MOST_OPEN = 5  # names of unfinished ranges that are listed
_OWN = "record_function"
_SOURCES = {"nvtx": "NVTX", "itt": "ITT", "perfprobe": "perfprobe.range"}
_KINDS = {"free": "start/end", "mark": "mark"}


def range_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`ranges`, and `named_ranges` where there are any."""
    found: dict[str, Sequence[Any]] = {"ranges": range_rows(findings, choice.top or 0, choice.sort)}
    if RangeRows in findings:
        rows = named_ranges_in_focus(findings).take(slice(choice.top or None))
        found["named_ranges"] = named_range_rows(findings, rows)
    return found


def ranges(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Ranges of the program, then of libraries; nothing without any."""
    found, sort = named_ranges_in_focus(findings), range_sort(choice.sort)
    of_library = by_library(findings, found)
    of_program, others = found.take(~of_library), found.take(of_library)
    own = findings[Hotspots].ranges
    if len(own) + len(of_program):
        shown = range_rows(findings, choice.most(TOP), choice.sort)
        yield from _table(findings, "Ranges", shown, of_program, choice.most(TOP), sort)
    if len(others):
        if len(own) + len(of_program):
            yield Blank()
        yield from _table(findings, "Ranges of libraries", [], others, choice.most(TOP_OF_LIBRARIES), sort)
    yield from _still_open(named_range_rows(findings, found.take(found.open > 0)))


class _Shown(NamedTuple):
    """The rows of one table: ranges recorded with operators, named ranges, and the place of each row."""

    own: Sequence[RangeRow]
    named: Sequence[NamedRangeRow]
    order: Sequence[int]


def _table(
    findings: Findings, title: str, own: Sequence[RangeRow], named: RangeRows, top: int, sort: str
) -> Iterator[Block]:
    """The first `top` rows of both, 0 for all."""
    number = len(named) + (len(findings[Hotspots].ranges) if own else 0)
    shown = _first(own, named_range_rows(findings, ranked_named(named, top, sort)), top, sort)
    set_by = [_OWN] * bool(own) + [_set_by(row) for row in named_range_rows(findings, named)]
    ways = ", ".join(dict.fromkeys(text.partition(" ")[0] for text in set_by))
    yield Heading(title, f"({ways}), {rows_shown(number, len(shown.order), sort)}{_focus_note(findings)}")
    yield Table(_columns(shown, least_ns(findings.trace.recording)))


def _first(own: Sequence[RangeRow], named: Sequence[NamedRangeRow], top: int, sort: str) -> _Shown:
    keys = [*(_key(row.ran, sort) for row in own), *(_named_key(row, sort) for row in named)]
    order = sorted(range(len(keys)), key=lambda at: -keys[at])
    return _Shown(own, named, order[: top or None])


def _key(ran: Calls, sort: str) -> int:
    if sort == "gpu":
        value = ran.recorded["gpu_ns"]
    else:
        value = getattr(ran, {"calls": "calls", "mean": "whole_mean_ns"}.get(sort, f"{sort}_ns"))
    return -1 if value is None else value


def _named_key(row: NamedRangeRow, sort: str) -> int:
    value = getattr(row, "ranges" if sort == "calls" else f"{sort}_ns", None)
    return -1 if value is None else value


def _columns(shown: _Shown, least: int) -> list[Column]:
    ran, named = [row.ran for row in shown.own], shown.named
    names = [printable(row.name) if row.name else "(unknown)" for row in shown.own]
    none = [units.ABSENT] * len(named)
    totals = (units.duration(each.total_ns, least * each.calls) for each in ran)
    gpu = (unless_zero(each.recorded["gpu_ns"]) for each in ran)
    lines, threads = line_column(ran, function=12), [_on(row) for row in named]
    found = [
        (figures("total", totals), [units.duration(row.total_ns) for row in named]),
        (
            figures("calls", (units.count(each.calls) for each in ran), 2),
            [units.count(row.ranges) for row in named],
        ),
        *(
            (column, [units.duration(getattr(row, f"{column.title}_ns")) for row in named])
            for column in duration_columns(ran, least)
        ),
        *([(cpu_column(ran), none)] if any(each.recorded["cpu_ns"] is not None for each in ran) else []),
        *([(figures("gpu", gpu, 3), none)] if any(each.recorded["gpu_ns"] for each in ran) else []),
        (Column("name", names, least=12, wish=32, style="bold"), [_name(row) for row in named]),
        *([(Column("set by", [_OWN] * len(ran), 3), [_set_by(row) for row in named])] if named else []),
        *([(lines, threads)] if any([*lines.cells, *threads]) else []),
    ]
    return [_merged(column, others, shown.order) for column, others in found]


def _merged(column: Column, others: Sequence[str], order: Sequence[int]) -> Column:
    cells = [*column.cells, *others]
    return replace(column, cells=[cells[at] for at in order])


def _name(row: NamedRangeRow) -> str:
    return printable(row.name) if row.name else "(no name)"


def _set_by(row: NamedRangeRow) -> str:
    """`NVTX`, `ITT in domain`, and whether they are marks or may end on another thread."""
    within = f"in {printable(row.domain)}" if row.domain is not None else ""
    how = "" if row.source == "perfprobe" else _KINDS.get(row.kind or "", "")  # perfprobe has only one kind
    return " ".join(filter(None, (_SOURCES.get(row.source or "", "(unknown)"), how, within)))


def _on(row: NamedRangeRow) -> str:
    """The thread, unless it is the main one."""
    return "" if row.on is None else f"({printable(row.on)})"


def _focus_note(findings: Findings) -> str:
    """A note on how many ranges there are without the focus."""
    hotspots, named = findings[Hotspots], findings.get(RangeRows) or ()
    if hotspots.focus is None:
        return ""
    return f", focus {focus_text(hotspots.focus)} of {units.count(hotspots.whole_ranges + len(named))}"


def _still_open(rows: Sequence[NamedRangeRow]) -> Iterator[Block]:
    if rows:
        names = [_name(row) for row in rows[:_MOST_OPEN]]
        more = f" and {len(rows) - len(names):,} more" if len(rows) > len(names) else ""
        yield Paragraph(
            f"Still open at the end of the recording, counted up to there: {', '.join(names)}{more}.", "dim"
        )


_MEANINGS: dict[str, str] = {
    "total": "Time during which at least one range of this name was open. Nested ranges count once.",
    "calls": "Number of ranges.",
    "mean": "Mean duration.",
    "median": "Median duration.",
    "p95": "95th percentile of the durations.",
    "cpu": "CPU time of the range's own thread, with `--cpu-time`.",
    "gpu": "Time on GPUs of what was launched inside the range.",
    "name": "Name of the range.",
    "set by": "Interface that set the range, and its domain: record_function, NVTX, ITT, perfprobe.range.",
    "line": "Line of the program that set the range, or the thread if the line is not known.",
}

RANGES = Section(
    "ranges",
    (Hotspots,),
    ranges,
    range_tables,
    shows=(RangeRows,),
    titles=(
        "Ranges",
        "Ranges of libraries",
    ),
    guide="ranges",
    means="Named parts of the program: ranges set by the program, by torch or by a library.",
    meanings=_MEANINGS,
    json={
        "ranges": "The section *ranges*: those of `record_function`, and of torch itself.",
        "named_ranges": "Ranges of NVTX, ITT, perfprobe and the interpreter.",
    },
)
