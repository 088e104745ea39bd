"""Percentiles by nearest rank: of n values in order, the ceil(n * percent / 100)-th."""

from __future__ import annotations

from math import exp, lgamma, log, sqrt
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int64

_Count = TypeVar("_Count", int, Int64)
_UNSURE = 0.05


def rank(count: _Count, percent: int) -> _Count:
    """Returns the place from 0 of a percentile among so many values in order; 0 without values."""
    found: _Count = np.maximum(-(-count * percent // 100), 1) - 1
    return found


def percentile(values: npt.NDArray[Any], percent: int) -> Any:
    """Returns a percentile of the values, -1 without values."""
    return np.sort(values)[int(rank(len(values), percent))].item() if len(values) else -1


def median_interval(values: npt.NDArray[Any]) -> tuple[float | None, float | None]:
    """The 95 % interval of the median by order statistics; None with fewer than six values.

    Of n values the k smallest and the k largest lie outside, for the largest k at which a binomial of n
    halves is at most k - 1 with a probability of 2.5 % (Conover, Practical Nonparametric Statistics, 3.2).
    """
    ordered, number = np.sort(values), len(values)
    below, outside = _first(number), 0.0
    while below < number // 2:
        outside += _chance(number, below)
        if outside > _UNSURE / 2:
            break
        below += 1
    return (float(ordered[below - 1]), float(ordered[number - below])) if below else (None, None)


def _first(number: int) -> int:
    """A number of heads so small that fewer of them have a chance below 1e-20 (Hoeffding)."""
    return max(number // 2 - int(5 * sqrt(number)), 0)


def _chance(number: int, heads: int) -> float:
    """The chance of so many heads. The exact value takes a second for some thousand tosses."""
    ways = lgamma(number + 1) - lgamma(heads + 1) - lgamma(number - heads + 1)
    return exp(ways - number * log(2))
