"""Percentiles by nearest rank: of n values in order, the ceil(n * percent / 100)-th."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int64

_Count = TypeVar("_Count", int, Int64)


def rank(count: _Count, percent: int) -> _Count:
    """Returns the place from 0 of a percentile among so many values in order; 0 without values."""
    found: _Count = np.maximum(-(-count * percent // 100), 1) - 1
    return found


def percentile(values: npt.NDArray[Any], percent: int) -> Any:
    """Returns a percentile of the values, -1 without values."""
    return np.sort(values)[int(rank(len(values), percent))].item() if len(values) else -1
