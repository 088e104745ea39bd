"""How memory and the duration of the loop's steps change from step to step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.grouping import sums_by
from perfprobe.analyse.growth import is_growing
from perfprobe.analyse.loop.own_times import leading, own_times_ns
from perfprobe.models.intervals import slope_interval
from perfprobe.tables.columns import Int32, Rows, among, distinct
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace
from perfprobe.tables.trends import Trend, Trends

_FEWEST_STEPS = 50
_FEWEST_VALUES = 24
_PARTS = 12  # of the steps, of which medians are compared
_FIFTHS = 5
_FEWEST_LOOKS = 20  # in the last fifth of the steps
Figures = npt.NDArray[np.float64]


def trends(trace: Trace, times: StepTimes, looks: Looks | None) -> Trends | None:
    """What rises in the leading loop; None without steps."""
    if len(times.loops) == 0:
        return None
    row, thread = np.flatnonzero(leading(times)), int(times.loops.thread[0])
    own_ns = own_times_ns(trace, times) if len(row) >= _FEWEST_STEPS else None
    duration = None if own_ns is None else trend(np.arange(len(row)), own_ns)
    frame, part = (-1, 0.0) if duration is None or looks is None else _risen(looks, row)
    return Trends(_memory(_live(trace, thread)), duration, frame, part)


def trend(steps: npt.NDArray[np.int64], values: Figures) -> Trend | None:
    """How a figure rises; None with fewer than 24 values, or where it does not rise throughout.

    steps: the number of each step that has a value, in order.
    """
    if len(steps) < _FEWEST_VALUES:
        return None
    parts = np.array_split(np.arange(len(steps)), _PARTS)
    at, medians = (np.array([np.median(each[part]) for part in parts]) for each in (steps, values))
    a_step, low, high = slope_interval(medians, at)
    if low <= 0 or not bool(is_growing(medians[None, :])[0]):
        return None
    half, fifth = _PARTS // 2, len(steps) // _FIFTHS
    late, *_ = slope_interval(medians[half:], at[half:])
    first, last = (float(np.median(each)) for each in (values[:fifth], values[-fifth:]))
    return Trend(a_step, low, high, late, first, last, int(steps[-1] - steps[0]) + 1)


def _live(trace: Trace, thread: int) -> LiveSteps:
    """The steps of a thread that were found while the program ran, without evaluations."""
    live, os_threads = trace.recording[LiveSteps].counted(), trace.recording.os_threads()
    live = live.take((os_threads[live.thread] == os_threads[thread]) & (live.is_evaluation == 0))
    return live.take(np.argsort(live.start_ns, kind="stable"))


def _memory(live: LiveSteps) -> Trend | None:
    """Resident memory, which was not read in each step. In the first fifth allocators fill their pools."""
    read = np.flatnonzero(live.rss_bytes >= 0)
    read = read[read >= len(live) // _FIFTHS] if len(live) >= _FEWEST_STEPS else read[:0]
    return trend(read, live.rss_bytes[read].astype(np.float64))


def _risen(looks: Looks, row: Rows) -> tuple[int, float]:
    """The line with the largest part of what the last fifth of the steps takes more than the first."""
    fifth = len(row) // _FIFTHS
    first, last = (looks.take(among(looks.step, each)) for each in (row[:fifth], row[-fifth:]))
    if len(last) < _FEWEST_LOOKS:
        return -1, 0.0
    frames = distinct(np.append(first.frame, last.frame))
    more_ns = _by_frame(last, frames) - _by_frame(first, frames)
    whole_ns = float(more_ns.sum())
    more_ns[frames < 0] = 0
    best = int(np.argmax(more_ns))
    return (int(frames[best]), float(more_ns[best]) / whole_ns) if more_ns[best] > 0 else (-1, 0.0)


def _by_frame(looks: Looks, frames: Int32) -> Figures:
    return sums_by(np.searchsorted(frames, looks.frame), looks.own_ns, len(frames)).astype(np.float64)
