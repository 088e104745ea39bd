"""Percentiles by nearest rank: of n values in order, the ceil(n * percent / 100)-th."""

from __future__ import annotations

from math import comb
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
    below, outside = 0, 0.0
    while below < number // 2:
        outside += comb(number, below) / 2**number
        if outside > _UNSURE / 2:
            break
        below += 1
    return (float(ordered[below - 1]), float(ordered[number - below])) if below else (None, None)
