"""Columns of names, the columns of Paddle's summaries, and a note on the steps that they cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from perfprobe.report import shorten
from perfprobe.report.rows.peers.paddle import SummaryRow
from perfprobe.report.section.block import Column, Head
from perfprobe.report.section.heads import figure
from perfprobe.report.section.steps import left_out_text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import PeerTimes
from perfprobe.tables.trace import shown_name

Row = TypeVar("Row")


def of_steps(findings: Findings) -> str:
    """A text that says which steps the table covers."""
    times = findings[PeerTimes]
    if not times.has_steps:
        return "no steps found: all operators as one step"
    number = f"{len(times.steps):,} {'step' if len(times.steps) == 1 else 'steps'}"
    return f"{number}, left out: {left_out_text(times.left_out)}" if times.left_out else number


def name_head(
    title: str, means: str, name: Callable[[Row], str], indent: Callable[[Row], str] = lambda _: ""
) -> Head[Sequence[Row]]:
    """Names of operators, shortened in a small width. indent: blanks before the name."""

    def cells(rows: Sequence[Row], *, narrow: bool) -> list[str]:
        return [f"{indent(row)}{printable(shown_name(name(row), narrow=narrow))}" for row in rows]

    def make(rows: Sequence[Row]) -> Column:
        whole, brief = (cells(rows, narrow=narrow) for narrow in (False, True))
        return Column(title, whole, least=20, style="bold", brief=brief, shorten=cut_name)

    return Head(title, means, make)


def cut_name(name: str, width: int) -> str:
    """The name cut to a width. For `evaluate_function: AddmmBackward0` the end is kept."""
    before, colon, node = name.rpartition(": ")
    if not colon or len(name) <= width:
        return shorten.cut(name, width)
    indent = before[: len(before) - len(before.lstrip())]
    return shorten.cut(f"{indent}{shorten.ELLIPSIS}{node}", width)


def _of_gpu(
    title: str, means: str, value: Callable[[SummaryRow], float | None], rank: int = 0
) -> Head[Sequence[SummaryRow]]:
    """A duration on GPUs."""
    return figure(title, means, lambda row: units.duration(value(row)), rank, shown=_has_gpu)


def _has_gpu(row: SummaryRow) -> bool:
    return row.gpu_total_ns is not None


def summary_name_head(means: str) -> Head[Sequence[SummaryRow]]:
    """The names of a summary; those within others are indented."""
    return name_head("Name", means, lambda row: row.name, lambda row: "  " if row.within else "")


_OF_GPU = "Time on GPUs of the work launched in it"
SUMMARY_TIMES: tuple[Head[Sequence[SummaryRow]], ...] = (
    figure("Calls", "How often it ran.", lambda row: units.count(row.calls)),
    figure("CPU Total", "Wall time of all calls.", lambda row: units.duration(row.cpu_total_ns)),
    figure("CPU Avg", "CPU Total divided by Calls.", lambda row: units.duration(row.cpu_avg_ns), 2),
    figure("CPU Max", "The longest call.", lambda row: units.duration(row.cpu_max_ns), 3),
    figure("CPU Min", "The shortest call.", lambda row: units.duration(row.cpu_min_ns), 4),
    figure(
        "CPU Ratio",
        "CPU Total divided by the steps' time; in *Operator Summary* by all operators' time, and in the rows "
        "below an operator by that operator's time.",
        lambda row: units.percent(row.cpu_ratio),
    ),
    _of_gpu("GPU Total", f"{_OF_GPU}.", lambda row: row.gpu_total_ns),
    _of_gpu("GPU Avg", "GPU Total divided by Calls.", lambda row: row.gpu_avg_ns, 3),
    _of_gpu("GPU Max", f"{_OF_GPU}: maximum over the calls.", lambda row: row.gpu_max_ns, 4),
    _of_gpu("GPU Min", f"{_OF_GPU}: minimum over the calls.", lambda row: row.gpu_min_ns, 5),
    figure(
        "GPU Ratio",
        "GPU Total divided by the corresponding time on GPUs.",
        lambda row: units.percent(row.gpu_ratio),
        shown=_has_gpu,
    ),
)
SUMMARY = (summary_name_head("Name of the phase, operator or range."), *SUMMARY_TIMES)
