"""Shared parts of Paddle's summaries: their columns, and a note on the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfprobe.report import shorten
from perfprobe.report.rows.peers.paddle import SummaryRow
from perfprobe.report.section.block import Column
from perfprobe.report.section.figures import figures
from perfprobe.report.section.steps import left_out_text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes
from perfprobe.tables.trace import shown_name

_WORDS = (("Total", "total", 0), ("Avg", "avg", 2), ("Max", "max", 3), ("Min", "min", 4))


def of_steps(findings: Findings) -> str:
    """A text that says which steps the table covers."""
    times = findings[PeerTimes]
    if not times.has_steps:
        return "no steps found: all operators as one step"
    number = f"{len(times.steps):,} {'step' if len(times.steps) == 1 else 'steps'}"
    return f"{number}, left out: {left_out_text(times.left_out)}" if times.left_out else number


def summary_columns(rows: Sequence[SummaryRow]) -> list[Column]:
    """Name, Calls, then Total, Avg, Max, Min and Ratio of CPU, and of GPU if one was recorded."""
    has_gpu = any(row.gpu_total_ns is not None for row in rows)
    return [
        name_column("Name", [row.name for row in rows], ["  " if row.within else "" for row in rows]),
        figures("Calls", (units.count(row.calls) for row in rows)),
        *_columns(rows, "CPU", 0),
        *(_columns(rows, "GPU", 1) if has_gpu else []),
    ]


def name_column(title: str, names: Sequence[str], indents: Sequence[str] = ()) -> Column:
    """Names of operators, shortened in a small width."""
    whole, brief = (
        [
            f"{indent}{printable(shown_name(name, narrow=narrow))}"
            for name, indent in zip(names, indents or [""] * len(names), strict=True)
        ]
        for narrow in (False, True)
    )
    return Column(title, whole, least=20, style="bold", brief=brief, shorten=cut_name)


def cut_name(name: str, width: int) -> str:
    """The name cut to a width. For `evaluate_function: AddmmBackward0` the end is kept."""
    before, colon, node = name.rpartition(": ")
    if not colon or len(name) <= width:
        return shorten.cut(name, width)
    indent = before[: len(before) - len(before.lstrip())]
    return shorten.cut(f"{indent}{shorten.ELLIPSIS}{node}", width)


def _columns(rows: Sequence[SummaryRow], whose: str, rank: int) -> list[Column]:
    def value(what: str) -> Callable[[SummaryRow], float | None]:
        return lambda row: getattr(row, f"{whose.lower()}_{what}")

    times = [
        figures(f"{whose} {title}", map(units.duration, map(value(f"{what}_ns"), rows)), own and own + rank)
        for title, what, own in _WORDS
    ]
    return [*times, figures(f"{whose} Ratio", map(units.percent, map(value("ratio"), rows)))]
