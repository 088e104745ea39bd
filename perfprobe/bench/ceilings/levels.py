"""Finds the levels of the memory from the bandwidth by footprint.

The processor's description of its caches does not help in a virtual machine, where neighbours take part of a
shared cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from statistics import fmean

_LEAST_POINTS = 2  # points of a plateau; a single point between two plateaus is part of the slope
_LEAST_STEP = log(1.25)  # between plateaus; a smaller step is noise
_MOST_SLOPE = log(1.35)  # within a plateau
_PENALTY = 0.08  # one more plateau must reduce the squared error of the logarithms by this much
_NAMES = {1: ("DRAM",), 2: ("LLC", "DRAM"), 3: ("L2", "LLC", "DRAM"), 4: ("L1", "L2", "LLC", "DRAM")}


def levels(curve: Sequence[tuple[int, float]], memory: str = "DRAM") -> tuple[tuple[str, int], ...]:
    """Returns name and largest footprint of each level, from the innermost to the memory.

    Args:
        curve: (footprint_bytes, bytes a second), sorted by footprint.
        memory: the name of the outermost level.
    """
    if not curve:
        return ()
    rates = [log(rate) for _, rate in curve]
    # Below the best footprint the cost of the call itself lowers the rate; this is no level.
    first = rates.index(max(rates))
    ends = _merged(rates[first:], _segments(rates[first:]))
    names = _NAMES.get(len(ends), tuple(f"level {number + 1}" for number in range(len(ends))))
    found = [(name, curve[first + end - 1][0]) for name, end in zip(names, ends, strict=True)]
    return (*found[:-1], (memory, found[-1][1]))


def _segments(values: Sequence[float]) -> list[int]:
    """Fits a piecewise constant function by dynamic programming, with a price for each piece.

    Returns the ends of the pieces.
    """
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for end in range(1, len(values) + 1):
        options = [
            (best[start][0] + _PENALTY + _squares(values[start:end]), [*best[start][1], end])
            for start in range(end)
        ]
        best.append(min(options))
    return best[-1][1]


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _merged(values: Sequence[float], ends: list[int]) -> list[int]:
    """Drops pieces that are slopes between plateaus, and steps that are small or lead upwards."""
    pieces = [values[start:end] for start, end in pairwise([0, *ends])]
    kept: list[int] = []
    level = None
    for number, (piece, end) in enumerate(zip(pieces, ends, strict=True)):
        is_inner = 0 < number < len(pieces) - 1
        if is_inner and (len(piece) < _LEAST_POINTS or max(piece) - min(piece) > _MOST_SLOPE):
            continue
        mean = fmean(piece)
        if level is not None and level - mean < _LEAST_STEP:
            kept[-1] = end
            continue
        kept.append(end)
        level = mean
    return kept
