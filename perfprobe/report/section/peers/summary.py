"""What Paddle's summaries have in common: their columns, and which steps they are of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfprobe.report.rows.peers.paddle import SummaryRow
from perfprobe.report.section.block import Column
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes

_WORDS = (("Total", "total", 0), ("Avg", "avg", 2), ("Max", "max", 3), ("Min", "min", 4))


def of_steps(findings: Findings) -> str:
    """Which steps the table is of."""
    times = findings[PeerTimes]
    if not times.has_steps:
        return "no steps found: all operators as one step"
    number = f"{len(times.steps):,} {'step' if len(times.steps) == 1 else 'steps'}"
    left_out = f", {times.left_out:,} left out (warm-up, outliers: --view steps)" if times.left_out else ""
    return f"{number}{left_out}"


def summary_columns(rows: Sequence[SummaryRow], name: str = "Name") -> list[Column]:
    """Name, Calls, then Total, Avg, Max, Min and Ratio of CPU, and of GPU where one was recorded."""
    names = [f"{'  ' if row.within else ''}{printable(row.name)}" for row in rows]
    has_gpu = any(row.gpu_total_ns is not None for row in rows)
    return [
        Column(name, names, least=20, style="bold"),
        figures("Calls", (units.count(row.calls) for row in rows)),
        *_columns(rows, "CPU", 0),
        *(_columns(rows, "GPU", 1) if has_gpu else []),
    ]


def _columns(rows: Sequence[SummaryRow], whose: str, rank: int) -> list[Column]:
    def value(what: str) -> Callable[[SummaryRow], float | None]:
        return lambda row: getattr(row, f"{whose.lower()}_{what}")

    times = [
        figures(f"{whose} {title}", map(units.duration, map(value(f"{what}_ns"), rows)), own and own + rank)
        for title, what, own in _WORDS
    ]
    return [*times, figures(f"{whose} Ratio", map(units.percent, map(value("ratio"), rows)))]
