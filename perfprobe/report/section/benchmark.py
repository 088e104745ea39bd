"""The table of a run in benchmark mode: what steps take while nothing else is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.benchmark import BenchmarkRow, MeasureRow, benchmark_rows, measure_rows
from perfprobe.report.rows.choice import Choice
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
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
    yield Table(columns(_COLUMNS, rows))
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


def _value(row: MeasureRow, value: float | None) -> str:
    return units.duration(value) if row.unit == "ns" else units.amount(value)


_COLUMNS: tuple[Head[Sequence[MeasureRow]], ...] = (
    text(
        "measure",
        "**batch_cost**: time of a whole step. **reader_cost**: time of the step in the loader's `next`. "
        "**ips**: samples per second, or steps per second if the batch size is not known.",
        lambda row: row.measure,
    ),
    figure(
        "median",
        "Half of the steps have at most this value.",
        lambda row: _value(row, row.median),
        style="bold",
    ),
    figure(
        "interval",
        "95 % confidence interval of the median, by order statistics; `-` with fewer than six steps.",
        lambda row: units.interval(_value(row, row.low), _value(row, row.high)),
    ),
    figure(
        "average",
        "Mean over the steps. For ips: all samples divided by the total time.",
        lambda row: _value(row, row.average),
    ),
    figure("p95", "95 % of the steps have at most this value.", lambda row: _value(row, row.p95)),
    figure("min", "Smallest value of a step.", lambda row: _value(row, row.min)),
    figure("max", "Largest value of a step.", lambda row: _value(row, row.max)),
    text("unit", "Unit of ips.", lambda row: "" if row.unit == "ns" else row.unit),
)

BENCHMARK = Section(
    "benchmark",
    (Benchmark,),
    benchmark,
    benchmark_tables,
    titles=("Benchmark",),
    guide="benchmark",
    means="Step times, measured without tracing (`--benchmark`).",
    heads=_COLUMNS,
    json={
        "benchmark": "The section *benchmark*: the steps as a whole.",
        "benchmark_measures": "The section *benchmark*: its rows.",
    },
)
