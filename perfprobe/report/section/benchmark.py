"""The table of a run in benchmark mode: what steps take while nothing else is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.benchmark import MeasureRow, benchmark_rows, measure_rows
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
    said = f"{units.count(loop.steps)} steps in {units.duration(loop.total_ns)}" if loop.steps else ""
    by = f", found by {_FOUND_BY.get(loop.found_by or '', 'the program')}" if loop.steps else ""
    yield Heading("Benchmark", f"{said}{by}")
    if not rows:
        yield Paragraph(_too_few(loop.left_out) if loop.left_out else _NONE, "yellow")
        return
    yield Table(_columns(rows))
    if found.reader_share is not None:
        yield Paragraph(f"Waiting for data: {units.percent(found.reader_share)} of the steps' time.")
    if loop.left_out or loop.evaluations:
        yield Paragraph(f"Left out: {', '.join(_left_out(loop.left_out, loop.evaluations))}.", "dim")


def _too_few(left_out: int) -> str:
    return f"All {left_out} steps were warm-up: run more, or give --warmup a smaller number."


def _left_out(steps: int, evaluations: int) -> Iterator[str]:
    if steps:
        yield f"{units.count(steps)} steps of warm-up"
    if evaluations:
        yield f"{units.count(evaluations)} evaluations"


def _columns(rows: Sequence[MeasureRow]) -> list[Column]:
    def shown(row: MeasureRow, value: float) -> str:
        return units.duration(value) if row.unit == "ns" else units.amount(value)

    return [
        Column("measure", [row.measure for row in rows]),
        figures("average", (shown(row, row.average) for row in rows), style="bold"),
        figures("median", (shown(row, row.median) for row in rows)),
        figures("p95", (shown(row, row.p95) for row in rows)),
        figures("min", (shown(row, row.min) for row in rows)),
        figures("max", (shown(row, row.max) for row in rows)),
        Column("unit", ["" if row.unit == "ns" else row.unit for row in rows]),
    ]
