"""How fast something grows from step to step."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int64, Mask, Rows

FEWEST_STEPS = 3
_MOST_SAMPLES = 32  # steps; all pairs of them are compared
_PARTS = 4  # a leak grows in each part of the run, a cache that is filled once only in one part


def sampled(steps: Rows) -> Rows:
    """Returns at most 32 of these steps, evenly spaced; none if there are fewer than three."""
    if len(steps) < FEWEST_STEPS:
        return steps[:0]
    return steps[np.linspace(0, len(steps) - 1, min(len(steps), _MOST_SAMPLES)).astype(np.intp)]


def is_growing(held_bytes: Int64) -> Mask:
    """Whether each row grows in every quarter of the steps. held_bytes: a column for each step."""
    steps = held_bytes.shape[1]
    bounds = np.linspace(0, steps - 1, min(_PARTS, steps - 1) + 1).astype(np.intp)
    return np.asarray((np.diff(held_bytes[:, bounds], axis=1) > 0).all(axis=1))


def median_slope(held_bytes: Int64, steps: Rows) -> int:
    """Returns the median slope of all pairs of steps, which is robust to outliers (Theil 1950, Sen 1968)."""
    slopes = _slopes(held_bytes, steps)
    return round(float(slopes[(len(slopes) - 1) // 2]))


def slope_interval(values: npt.NDArray[Any], steps: npt.NDArray[Any]) -> tuple[float, float, float]:
    """The median slope of all pairs of steps, and its 95 % interval.

    The interval leaves out as many of the smallest and largest slopes as Kendall's statistic of n steps
    without a trend exceeds with a probability of 5 % (Sen, J. Am. Stat. Assoc. 63, 1968, section 3).
    """
    slopes, number = _slopes(values, steps), len(steps)
    spread = 1.96 * sqrt(number * (number - 1) * (2 * number + 5) / 18)
    outside = max(int((len(slopes) - spread) / 2), 0)
    return float(np.median(slopes)), float(slopes[outside]), float(slopes[len(slopes) - 1 - outside])


def _slopes(values: npt.NDArray[Any], steps: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The slopes of all pairs of steps, the smallest first."""
    first, second = np.triu_indices(len(steps), 1)
    return np.asarray(np.sort((values[second] - values[first]) / (steps[second] - steps[first])))
