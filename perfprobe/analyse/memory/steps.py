"""What forward leaves alive for backward, and how much memory grows from step to step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.memory.categories import ends
from perfprobe.analyse.memory.moments import Moments
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int8, Int64, Rows
from perfprobe.tables.memory import MemoryCategory, Storages

MOST_SAMPLES = 32  # steps whose ends are compared, each with each, for each line
FEWEST_STEPS = 3
_PARTS = 4  # parts of the run: a leak grows in each of them, a cache that is filled once only in one


@frozen
class AliveForBackward:
    """Storages that forward allocated and that were alive when the backward of their step began.

    Only of steps that count. If a step calls backward several times, the call with most memory alive counts.
    """

    storages: Rows
    steps: int


def alive_for_backward(storages: Storages, category: Int8, moments: Moments) -> AliveForBackward:
    """Returns the storages of category `ACTIVATION` that are alive when backward of their step begins."""
    chosen = np.flatnonzero(category == MemoryCategory.ACTIVATION)
    begin_ns = moments.backwards.start_ns
    first = np.searchsorted(begin_ns, storages.start_ns[chosen], side="left")
    last = np.searchsorted(begin_ns, ends(storages)[chosen], side="left")
    own = moments.steps.around(storages.start_ns[chosen])
    after = np.searchsorted(moments.step_of, own, side="right")
    last = np.minimum(last, after)
    is_inside = (own >= 0) & (first < last)
    chosen, first, last, own = (each[is_inside] for each in (chosen, first, last, own))
    alive_bytes = _between(first, last, storages.size_bytes[chosen], len(begin_ns))
    best = _largest(alive_bytes, moments)
    counted = (best[own] >= first) & (best[own] < last)
    return AliveForBackward(chosen[counted], int(np.count_nonzero(best >= 0)))


def _largest(alive_bytes: Int64, moments: Moments) -> Rows:
    """Returns for each step the call of backward at whose start most is alive; -1 if it does not count."""
    best = np.full(len(moments.counts), -1, np.intp)
    order = np.lexsort((-np.arange(len(alive_bytes)), alive_bytes))
    best[moments.step_of[order]] = order  # the last call written, which has most, stays
    return np.where(moments.counts, best, -1)


def growth(storages: Storages, group: Rows, groups: int, moments: Moments) -> Int64 | None:
    """Returns by how many bytes the held memory of each group grows in a step.

    It is the median slope over all pairs of steps' ends, which single unusual steps do not change (Theil
    1950, Sen 1968). 0 for a group that does not grow in every quarter of the run.

    Args:
        group: the group of each storage; -1 for none.
        groups: the number of groups.

    Returns:
        Bytes a step for each group; None with fewer than three steps.
    """
    steps = np.flatnonzero(moments.counts)
    if len(steps) < FEWEST_STEPS:
        return None
    steps = steps[np.linspace(0, len(steps) - 1, min(len(steps), MOST_SAMPLES)).astype(np.intp)]
    at_ns = moments.steps.end_ns[steps]
    first = np.searchsorted(at_ns, storages.start_ns, side="left")
    last = np.searchsorted(at_ns, ends(storages), side="left")
    chosen = np.flatnonzero((first < last) & (group >= 0))
    changes = np.zeros((groups, len(steps) + 1), np.int64)
    np.add.at(changes, (group[chosen], first[chosen]), storages.size_bytes[chosen])
    np.subtract.at(changes, (group[chosen], last[chosen]), storages.size_bytes[chosen])
    held_bytes = np.cumsum(changes, axis=1)[:, :-1]
    found = np.zeros(groups, np.int64)
    bounds = np.linspace(0, len(steps) - 1, min(_PARTS, len(steps) - 1) + 1).astype(np.intp)
    is_growing = (np.diff(held_bytes[:, bounds], axis=1) > 0).all(axis=1)
    for row in np.flatnonzero(is_growing).tolist():
        found[row] = max(_median_slope(held_bytes[row], steps), 0)
    return found


def _median_slope(held_bytes: Int64, steps: Rows) -> int:
    first, second = np.triu_indices(len(steps), 1)
    slopes: npt.NDArray[np.float64] = (held_bytes[second] - held_bytes[first]) / (
        steps[second] - steps[first]
    )
    return round(float(np.sort(slopes)[(len(slopes) - 1) // 2]))


def _between(first: Rows, last: Rows, values: Int64, places: int) -> Int64:
    """Returns for each place the sum of the values of all intervals [first, last) that contain it."""
    changes = np.zeros(places + 1, np.int64)
    np.add.at(changes, first, values)
    np.subtract.at(changes, last, values)
    return np.cumsum(changes)[:-1]
