"""Figures of a run in benchmark mode: time of steps, time spent waiting for data, samples a second."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.models.intervals import median_interval, percentile
from perfprobe.tables.columns import Int64
from perfprobe.tables.live_steps import Benchmark, Figures, LiveSteps
from perfprobe.tables.recording import Recording
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
    rows = recording[LiveSteps].counted()
    evaluations, steps = rows.take(rows.is_evaluation > 0), rows.take(rows.is_evaluation == 0)
    kept = steps_that_count(recording)
    batch_ns = kept.end_ns - kept.start_ns
    reader_ns = kept.reader_ns if len(kept) and bool((kept.batches > 0).any()) else None
    samples = kept.samples if len(kept) and bool((kept.samples > 0).all()) else None
    total_ns = int(batch_ns.sum())
    return Benchmark(
        source=StepSource(int(rows.source[0])) if len(rows) else None,
        steps=len(kept),
        left_out=len(steps) - len(kept),
        warm_up=_asked(recording),
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


def steps_that_count(recording: Recording) -> LiveSteps:
    """The steps that were found while the program ran, without evaluations and the warm-up."""
    steps = recording[LiveSteps].counted()
    steps = steps.take(steps.is_evaluation == 0)
    warm_up = min(_asked(recording), _most_warm_up(int(steps.number.max()) + 1 if len(steps) else 0))
    return steps.take((steps.number >= warm_up) & (steps.end_ns > steps.start_ns))


def _asked(recording: Recording) -> int:
    """How many steps are warm-up at most."""
    return int(recording.number("recording", "warmup") or 0)


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
