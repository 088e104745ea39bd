"""The tables of ranges: parts of the program that it, torch or another library gave a name to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text

from perfprobe.report import columns
from perfprobe.report.base import Layout
from perfprobe.report.cells import (
    counts,
    cpu_column,
    duration_columns,
    durations,
    least_ns,
    line_column,
    unless_zero,
)
from perfprobe.report.columns import Column
from perfprobe.report.named_ranges import (
    by_library,
    named_in_focus,
    range_names,
    range_sources,
    range_threads,
    ranked_named,
)
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.report.ranking import focus_text, range_sort, ranked, rows_shown
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

TOP = 5  # they are landmarks beside the operators, and one name a step would make thousands
TOP_OF_LIBRARIES = 4
_MOST_OPEN = 5  # names of ranges still open
_OWN = "record_function"


class _Shown(NamedTuple):
    """Rows of one table: of operators' ranges and of named ones, and the place of each row in the table."""

    own: HotspotRows
    named: RangeRows
    order: Sequence[int]


def ranges(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """Those of the program, then those of libraries; nothing where there were none."""
    hotspots = findings.hotspots
    assert hotspots is not None
    named = RangeRows.empty() if findings.named_ranges is None else findings.named_ranges
    found = named.take(named_in_focus(findings, named))
    of_library = by_library(findings.trace, found)
    own, shown_sort = hotspots.ranges, range_sort(layout.sort)
    tables = (
        ("Ranges", own, found.take(~of_library), TOP),
        ("Ranges of libraries", HotspotRows.empty(), found.take(of_library), TOP_OF_LIBRARIES),
    )
    shown_before = False
    for title, of_operators, others, usual in tables:
        number = len(of_operators) + len(others)
        if number == 0:
            continue
        if shown_before:
            yield Text("")
        shown_before = True
        shown = _first(of_operators, others, layout.most(usual), shown_sort)
        said = f"({_ways(findings.trace, of_operators, others)}), "
        said += rows_shown(number, len(shown.order), shown_sort) + _focus_note(findings, len(named))
        yield heading(title, said, layout.width)
        yield columns.table(columns.fit(_columns(findings, shown), layout.width))
    yield from _still_open(findings.trace, found, layout.width)


def _first(own: HotspotRows, named: RangeRows, top: int, sort: str) -> _Shown:
    """The `top` first rows of both, 0 for all."""
    own, named = ranked(own, top, sort), ranked_named(named, top, sort)
    keys = [*_keys(own, sort), *_keys(named, sort)]
    order = sorted(range(len(keys)), key=lambda at: -keys[at])
    return _Shown(own, named, order[: top or None])


def _keys(rows: HotspotRows | RangeRows, sort: str) -> list[int]:
    names = {"calls": "ranges" if isinstance(rows, RangeRows) else "calls", "gpu": "gpu_ns"}
    column = getattr(rows, names.get(sort, f"{sort}_ns"), None)
    return [-1] * len(rows) if column is None else column.tolist()


def _columns(findings: Findings, shown: _Shown) -> list[Column]:
    trace = findings.trace
    own, named, order = shown
    strings = trace.recording[Strings]
    names = [printable(strings[name]) if name >= 0 else "(unknown)" for name in own.name.tolist()]
    none = [units.ABSENT] * len(named)

    def merged(column: Column, others: Sequence[str]) -> Column:
        cells = [*column.cells, *others]
        return replace(column, cells=[cells[at] for at in order])

    times = (durations(time_ns) for time_ns in (named.mean_ns, named.median_ns, named.p95_ns))
    lines, threads = line_column(trace, own, function=12), range_threads(trace, named)
    found = [
        (
            Column("total", durations(own.total_ns, least_ns(trace) * own.calls), align="right"),
            durations(named.total_ns),
        ),
        (Column("calls", counts(own.calls), 2, align="right"), counts(named.ranges)),
        *zip(duration_columns(trace, own), times, strict=True),
        *([(cpu_column(own), none)] if bool((own.cpu_ns >= 0).any()) else []),
        *(
            [(Column("gpu", unless_zero(durations(own.gpu_ns)), 3, align="right"), none)]
            if bool((own.gpu_ns > 0).any())
            else []
        ),
        (Column("name", names, least=12, wish=32, style="bold"), range_names(trace, named)),
        *([(Column("set by", [_OWN] * len(own), 3), range_sources(trace, named))] if len(named) else []),
        *([(lines, threads)] if any([*lines.cells, *threads]) else []),
    ]
    return [merged(column, others) for column, others in found]


def _ways(trace: Trace, own: HotspotRows, named: RangeRows) -> str:
    """Through what they were set."""
    ways = [_OWN] if len(own) else []
    return ", ".join(
        dict.fromkeys([*ways, *(text.partition(" ")[0] for text in range_sources(trace, named))])
    )


def _focus_note(findings: Findings, named: int) -> str:
    """What ranges a focus chose them from."""
    hotspots = findings.hotspots
    if hotspots is None or hotspots.focus is None:
        return ""
    return f", focus {focus_text(hotspots.focus)} of {units.count(hotspots.whole_ranges + named)}"


def _still_open(trace: Trace, named: RangeRows, width: int) -> Iterator[RenderableType]:
    still = named.take(named.open > 0)
    if len(still):
        names = range_names(trace, still.take(slice(_MOST_OPEN)))
        more = f" and {len(still) - len(names):,} more" if len(still) > len(names) else ""
        yield paragraph(
            f"Not ended when the recording did, and counted up to there: {', '.join(names)}{more}.",
            width,
            "dim",
        )
