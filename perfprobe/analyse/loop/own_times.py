"""How long steps took without waiting for a processor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.models.waiting import HeldUp, held_up, waited_each_ns
from perfprobe.tables.columns import Mask
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace

Floats = npt.NDArray[np.float64]


def own_times_ns(trace: Trace, times: StepTimes) -> Floats | None:
    """The duration of each usual step of the leading loop, without waiting.

    None if waiting is not known, but was long. Waiting is what the thread itself read in the step, else what
    the scheduler says for it.
    """
    chosen = leading(times)
    steps, waited_ns = times.steps.take(chosen), _read_ns(times)[chosen]
    duration_ns = (steps.end_ns - steps.start_ns).astype(np.float64)
    if not np.isnan(waited_ns).any():
        return np.asarray(duration_ns - waited_ns)
    told_ns = waited_each_ns(trace.recording, int(times.loops.thread[0]), steps.start_ns, steps.end_ns)
    if told_ns is None:
        return None if held_up(trace) is HeldUp.YES else duration_ns
    return np.asarray(duration_ns - told_ns)


def leading(times: StepTimes) -> Mask:
    """Which steps are usual ones of the leading loop."""
    return np.asarray((times.steps.loop == 0) & times.steps.usual())


def _read_ns(times: StepTimes) -> Floats:
    """How long the thread of each step read that it waited; not a number where it did not read."""
    rows = times.step_phases
    found = np.full(len(times.steps), np.nan)
    is_read = np.bincount(rows.step, rows.waited_ns >= 0, len(times.steps)) > 0
    sums_ns = np.bincount(rows.step, np.maximum(rows.waited_ns, 0), len(times.steps))
    found[is_read] = sums_ns[is_read]
    return found
