"""Percentiles, medians and slopes of measured values, with the 95 % intervals of medians and slopes.

A percentile is by nearest rank: of n values in order, the ceil(n * percent / 100)-th.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, log, sqrt
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int64, Rows

_Count = TypeVar("_Count", int, Int64)
_UNSURE = 0.05
_NORMAL = 1.96  # standard deviations on either side of the mean that leave out as much


def rank(count: _Count, percent: int) -> _Count:
    """Returns the place from 0 of a percentile among so many values in order; 0 without values."""
    found: _Count = np.maximum(-(-count * percent // 100), 1) - 1
    return found


def percentile(values: npt.NDArray[Any], percent: int) -> Any:
    """Returns a percentile of the values, -1 without values."""
    return np.sort(values)[int(rank(len(values), percent))].item() if len(values) else -1


def known_median(values: Iterable[float | None]) -> float | None:
    """The median of the known values; None without any."""
    known = sorted(value for value in values if value is not None)
    middle = len(known) // 2
    if len(known) % 2 or not known:  # `statistics` would import fractions, decimal and random
        return known[middle] if known else None
    return (known[middle - 1] + known[middle]) / 2


def lower_median(values: Iterable[int | None]) -> int | None:
    """The median of the known values, of an even number the lower one; None without any."""
    known = sorted(value for value in values if value is not None)
    return known[(len(known) - 1) // 2] if known else None


def left_out(number: int) -> int:
    """How many of so many values are below the 95 % interval of their median; as many are above.

    It is the largest k at which a binomial of n halves is at most k with a probability of 2.5 % (Conover,
    Practical Nonparametric Statistics, 3.2). -1: with fewer than six values there is none.
    """
    places = np.arange(number // 2)
    # Logarithms of binomial coefficients, each from the one before: they themselves get too large.
    steps = np.log((number - places) / (places + 1))
    chances = np.exp(np.concatenate(([0.0], np.cumsum(steps)))[: len(places)] - number * log(2))
    return int(np.searchsorted(np.cumsum(chances), _UNSURE / 2, "right")) - 1


def median_interval(values: npt.NDArray[Any]) -> tuple[float | None, float | None]:
    """The 95 % interval of the median by order statistics; None with fewer than six values."""
    cut, ordered = left_out(len(values)), np.sort(values)
    return (float(ordered[cut]), float(ordered[len(values) - 1 - cut])) if cut >= 0 else (None, None)


def covering_interval(values: Iterable[float]) -> tuple[float, float, float]:
    """An interval of the median of a few values, at least one: low, high, and how likely the median is in it.

    It is that of `median_interval`. With fewer than six values it reaches from the lowest to the highest,
    which is less likely to cover the median.
    """
    ordered = sorted(values)
    number, cut = len(ordered), max(left_out(len(ordered)), 0)
    coverage = 1 - 2 * sum(comb(number, k) for k in range(cut + 1)) / 2**number
    return ordered[cut], ordered[number - 1 - cut], coverage


def median_slope(values: Int64, steps: Rows) -> int:
    """The lower median of the slopes of all pairs of steps, robust to outliers (Theil 1950, Sen 1968)."""
    slopes = _slopes(values, steps)
    return round(float(slopes[(len(slopes) - 1) // 2]))


def slope_interval(values: npt.NDArray[Any], steps: npt.NDArray[Any]) -> tuple[float, float, float]:
    """The median slope of all pairs of steps, and its 95 % interval.

    The interval leaves out as many of the smallest and largest slopes as Kendall's statistic of n steps
    without a trend exceeds with a probability of 5 % (Sen, J. Am. Stat. Assoc. 63, 1968, section 3).
    """
    slopes, number = _slopes(values, steps), len(steps)
    spread = _NORMAL * sqrt(number * (number - 1) * (2 * number + 5) / 18)
    outside = max(int((len(slopes) - spread) / 2), 0)
    return float(np.median(slopes)), float(slopes[outside]), float(slopes[len(slopes) - 1 - outside])


def _slopes(values: npt.NDArray[Any], steps: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The slopes of all pairs of steps, the smallest first."""
    first, second = np.triu_indices(len(steps), 1)
    return np.asarray(np.sort((values[second] - values[first]) / (steps[second] - steps[first])))
