"""Rows of a run in benchmark mode: the loop, and the measures of its steps."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.live_steps import Benchmark, Figures


@frozen(kw_only=True)
class MeasureRow:
    """A measure over the steps. measure: batch_cost, reader_cost or ips; unit: ns, samples/s or steps/s.

    low, high: the 95 % interval of the median; None with fewer than six steps.
    """

    measure: str
    unit: str
    average: float
    median: float
    low: float | None
    high: float | None
    p95: float
    min: float
    max: float


@frozen(kw_only=True)
class BenchmarkRow:
    """The loop. found_by: a `StepSource`; reader_share: of the steps' time in the loader's `next`.

    left_out: number of first steps that do not count; warm_up: how many `--warmup` asked to leave out.
    """

    found_by: str | None
    steps: int
    left_out: int
    warm_up: int
    evaluations: int
    evaluation_ns: int
    total_ns: int
    samples: int | None
    reader_share: float | None


def benchmark_rows(findings: Findings) -> list[BenchmarkRow]:
    """The loop, one row."""
    found = findings[Benchmark]
    return [
        BenchmarkRow(
            found_by=None if found.source is None else found.source.name.lower(),
            steps=found.steps,
            left_out=found.left_out,
            warm_up=found.warm_up,
            evaluations=found.evaluations,
            evaluation_ns=found.evaluation_ns,
            total_ns=found.total_ns,
            samples=found.samples,
            reader_share=found.reader_share,
        )
    ]


def measure_rows(findings: Findings) -> list[MeasureRow]:
    """The measures that are known."""
    found = findings[Benchmark]
    unit = "samples/s" if found.has_samples else "steps/s"
    measures = (
        ("batch_cost", "ns", found.batch_ns),
        ("reader_cost", "ns", found.reader_ns),
        ("ips", unit, found.ips),
    )
    return [_row(name, of, figures) for name, of, figures in measures if figures is not None]


def _row(measure: str, unit: str, figures: Figures) -> MeasureRow:
    return MeasureRow(
        measure=measure,
        unit=unit,
        average=figures.average,
        median=figures.median,
        low=figures.low,
        high=figures.high,
        p95=figures.p95,
        min=figures.least,
        max=figures.most,
    )
