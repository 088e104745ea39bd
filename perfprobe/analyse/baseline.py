"""What recording added to a step: compares untraced steps with the traced steps before and after them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.models.intervals import median_interval
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.live_steps import Added, Baseline, LiveSteps
from perfprobe.tables.trace import Trace

_FEWEST = 3  # pairs; a median of fewer means little


def baseline(trace: Trace) -> Baseline | None:
    """Returns the comparison; None if fewer than three untraced steps can be compared."""
    rows = trace.recording[LiveSteps].counted()
    rows = rows.take((rows.is_evaluation == 0) & (rows.end_ns > rows.start_ns))
    # With --keep slow all other steps were watched.
    is_traced = rows.is_baseline == 0 if trace.recording.is_kept else rows.is_recorded > 0
    times_ns = (rows.end_ns - rows.start_ns).astype(np.float64)
    cpu_ns = np.where(rows.cpu_ns > 0, rows.cpu_ns, np.nan)
    beside_ns, beside_cpu_ns = _beside(rows, times_ns, is_traced), _beside(rows, cpu_ns, is_traced)
    paired = (rows.is_baseline > 0) & ~np.isnan(beside_ns)
    if np.count_nonzero(paired) < _FEWEST:
        return None
    with_cpu = paired & ~np.isnan(cpu_ns) & ~np.isnan(beside_cpu_ns)
    is_limited = (trace.recording.number("live_steps", "timed") or 0) > 0
    has_cpu = np.count_nonzero(with_cpu) >= _FEWEST
    return Baseline(
        steps=int((rows.is_baseline > 0).sum()),
        pairs=int(np.count_nonzero(paired)),
        untraced_ns=int(np.median(times_ns[paired])),
        traced_ns=int(np.median(beside_ns[paired])),
        added=_added(beside_ns[paired] / times_ns[paired] - 1),
        added_cpu=_added(beside_cpu_ns[with_cpu] / cpu_ns[with_cpu] - 1) if has_cpu else None,
        detailed=float(np.mean(is_traced)) if is_limited else None,
    )


def _added(values: npt.NDArray[np.float64]) -> Added:
    return Added(float(np.median(values)), *median_interval(values))


def _beside(rows: LiveSteps, times_ns: npt.NDArray[np.float64], is_traced: Mask) -> npt.NDArray[np.float64]:
    """The mean of the traced steps just before and just after each step, NaN if neither was traced."""
    number: Int64 = rows.number.astype(np.int64)
    is_next = (np.diff(number) == 1) & (rows.thread[1:] == rows.thread[:-1])
    traced_ns = np.where(is_traced, times_ns, np.nan)
    before, behind = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    before[1:] = np.where(is_next, traced_ns[:-1], np.nan)
    behind[:-1] = np.where(is_next, traced_ns[1:], np.nan)
    both = np.stack([before, behind])
    known = (~np.isnan(both)).sum(axis=0)
    return np.where(known > 0, np.nansum(both, axis=0) / np.maximum(known, 1), np.nan)
