"""Figures of a run in benchmark mode: time of steps, time spent waiting for data, samples a second."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.models.intervals import median_interval, percentile
from perfprobe.tables.columns import Int64
from perfprobe.tables.live_steps import Benchmark, Figures, LiveSteps
from perfprobe.tables.steps import StepSource
from perfprobe.tables.trace import Trace

_SECOND_NS = 1e9
_ENOUGH = 10  # of more steps, all of the warm-up is left out
_OF_FEW = 4  # of fewer steps, at most one in so many


def benchmark(trace: Trace) -> Benchmark | None:
    """Figures over the steps after the warm-up, in ns; None if the run was not in benchmark mode."""
    recording = trace.recording
    if not recording.is_benchmark:
        return None
    rows = recording[LiveSteps]
    source = int(rows.source.min()) if len(rows) else None
    rows = rows.take(rows.source == (-1 if source is None else source))
    evaluations, steps = rows.take(rows.is_evaluation > 0), rows.take(rows.is_evaluation == 0)
    asked = int(recording.number("recording", "warmup") or 0)
    warm_up = min(asked, _most_warm_up(int(steps.number.max()) + 1 if len(steps) else 0))
    kept = steps.take((steps.number >= warm_up) & (steps.end_ns > steps.start_ns))
    batch_ns = kept.end_ns - kept.start_ns
    reader_ns = kept.reader_ns if len(kept) and bool((kept.batches > 0).any()) else None
    samples = kept.samples if len(kept) and bool((kept.samples > 0).all()) else None
    total_ns = int(batch_ns.sum())
    return Benchmark(
        source=None if source is None else StepSource(source),
        steps=len(kept),
        left_out=len(steps) - len(kept),
        warm_up=asked,
        evaluations=len(evaluations),
        evaluation_ns=int((evaluations.end_ns - evaluations.start_ns).sum()),
        total_ns=total_ns,
        has_samples=samples is not None,
        samples=None if samples is None else int(samples.sum()),
        reader_share=None if reader_ns is None else float(reader_ns.sum()) / total_ns,
        batch_ns=_figures(batch_ns, None),
        reader_ns=None if reader_ns is None else _figures(reader_ns, None),
        ips=_rates(batch_ns, samples),
    )


def _most_warm_up(steps: int) -> int:
    """Returns how many of so many steps may be warm-up: few steps are measured rather than all left out."""
    return max(steps - _ENOUGH, steps // _OF_FEW)


def _rates(batch_ns: Int64, samples: Int64 | None) -> Figures | None:
    """Samples a second of each step, or steps a second. The average is the total count by the total time."""
    if len(batch_ns) == 0:
        return None
    done = np.ones(len(batch_ns)) if samples is None else samples.astype(np.float64)
    return _figures(done / batch_ns * _SECOND_NS, float(done.sum() / batch_ns.sum() * _SECOND_NS))


def _figures(values: Int64 | npt.NDArray[np.float64], average: float | None) -> Figures | None:
    if len(values) == 0:
        return None
    mean = float(values.mean()) if average is None else average
    median, p95 = (float(percentile(values, percent)) for percent in (50, 95))
    low, high = median_interval(values)
    return Figures(mean, median, low, high, p95, float(values.min()), float(values.max()))
