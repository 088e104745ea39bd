"""Decides which steps the averages leave out: warm-up, compiling, outliers, and those slowed by cProfile."""

from __future__ import annotations

import numpy as np

from perfprobe.models.intervals import percentile
from perfprobe.tables.columns import Int8, Int64, Mask
from perfprobe.tables.steps import StepMark

_SLOWER = 1.25  # steps from the first on are warm-up as long as each takes more than this times the median
_MOST_WARM_UP = 0.2  # at most this share of all steps is warm-up
_COMPILING = 0.1  # a step that compiles for more than this share of its time is left out
_FAR_SLOWER = 3  # an outlier takes more than this times the median
_LEAST_STEPS = 5  # with fewer steps there are no outliers
_LEAST_LEFT = 20  # steps that must remain without those in which cProfile counted
_LEAST_PART = 0.25  # and this share of the number of those
_MOST_OUTLIERS = 0.02  # of all steps, at least one; long steps that are more frequent belong to the program


def marks(duration_ns: Int64, compile_ns: Int64, own_work_ns: Int64, is_cut: Mask) -> Int8:
    """A `StepMark` for each step of one loop, in their order.

    Args:
        duration_ns: of each step.
        compile_ns: the time each step spent compiling.
        own_work_ns: the time each spent saving, logging and waiting for data. That recurs, so it does not
            make a step an outlier.
        is_cut: whether the recording ended during the step.
    """
    found = np.full(len(duration_ns), StepMark.STEADY, np.int8)
    if len(duration_ns) < 2:
        return found
    compiling = compile_ns > _COMPILING * duration_ns
    whole_ns = duration_ns[~(compiling | is_cut)]
    median_ns = int(percentile(whole_ns if len(whole_ns) else duration_ns, 50))
    slow = (duration_ns > _SLOWER * median_ns) | compiling
    warm = int(np.argmin(np.append(slow, False)))
    most = max(int(_MOST_WARM_UP * len(slow)), 1)
    found[: min(warm, most)] = StepMark.WARM_UP
    left_ns = duration_ns - own_work_ns
    far = (left_ns > _FAR_SLOWER * median_ns) & (found == StepMark.STEADY) & ~compiling
    if len(slow) >= _LEAST_STEPS and np.count_nonzero(far) <= max(_MOST_OUTLIERS * len(slow), 1):
        found[far] = StepMark.OUTLIER
    found[compiling] = StepMark.COMPILE
    found[is_cut] = StepMark.CUT
    return found


def with_counted(mark: Int8, start_ns: Int64, slowed_until_ns: int) -> Int8:
    """The marks, with steady steps as COUNTED that began before this time, if enough others remain."""
    counted = (mark == StepMark.STEADY) & (start_ns < slowed_until_ns)
    left = np.count_nonzero(mark == StepMark.STEADY) - np.count_nonzero(counted)
    enough = left >= max(_LEAST_LEFT, _LEAST_PART * np.count_nonzero(counted))
    return np.where(counted & enough, np.int8(StepMark.COUNTED), mark).astype(np.int8)
