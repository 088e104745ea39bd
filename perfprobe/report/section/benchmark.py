"""The table of a run in benchmark mode: what steps take while nothing else is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.benchmark import BenchmarkRow, MeasureRow, benchmark_rows, measure_rows
from perfprobe.report.rows.choice import Choice
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.live_steps import Benchmark

_FOUND_BY = {
    "program": "perfprobe.step()",
    "profiler": "the profiler's steps",
    "optimizer": "the optimizer",
    "loader": "the loader",
}
_NONE = (
    "No step was found: the program uses neither a DataLoader, nor an optimizer, nor perfprobe.step(). Other "
    "kinds of loops are found only in recordings with operators."
)


def benchmark_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`benchmark` in one row, and `benchmark_measures`."""
    return {"benchmark": benchmark_rows(findings), "benchmark_measures": measure_rows(findings)}


def benchmark(findings: Findings, _: Choice) -> Iterator[Block]:
    """Costs and rates of the steps."""
    found, rows = findings[Benchmark], measure_rows(findings)
    (loop,) = benchmark_rows(findings)
    said = f"{_number(loop.steps, 'step')} in {units.duration(loop.total_ns)}" if loop.steps else ""
    by = f", found by {_FOUND_BY.get(loop.found_by or '', 'the program')}" if loop.steps else ""
    yield Heading("Benchmark", f"{said}{by}")
    if not rows:
        yield Paragraph(_NONE, "yellow")
        return
    yield Table(_columns(rows))
    if found.reader_share is not None:
        yield Paragraph(f"Waiting for data: {units.percent(found.reader_share)} of the steps' time.")
    if loop.left_out or loop.evaluations:
        yield Paragraph(f"Left out: {', '.join(_left_out(loop))}.", "dim")


def _left_out(loop: BenchmarkRow) -> Iterator[str]:
    if loop.left_out:
        few = "" if loop.left_out >= loop.warm_up else f" (not {loop.warm_up:,}: there are few steps)"
        yield f"{_number(loop.left_out, 'step')} of warm-up{few}"
    if loop.evaluations:
        yield _number(loop.evaluations, "evaluation")


def _number(count: int, what: str) -> str:
    return f"{units.count(count)} {what}{'' if count == 1 else 's'}"


def _columns(rows: Sequence[MeasureRow]) -> list[Column]:
    def shown(row: MeasureRow, value: float | None) -> str:
        return units.duration(value) if row.unit == "ns" else units.amount(value)

    return [
        Column("measure", [row.measure for row in rows]),
        figures("median", (shown(row, row.median) for row in rows), style="bold"),
        figures("interval", (units.interval(shown(row, row.low), shown(row, row.high)) for row in rows)),
        figures("average", (shown(row, row.average) for row in rows)),
        figures("p95", (shown(row, row.p95) for row in rows)),
        figures("min", (shown(row, row.min) for row in rows)),
        figures("max", (shown(row, row.max) for row in rows)),
        Column("unit", ["" if row.unit == "ns" else row.unit for row in rows]),
    ]
