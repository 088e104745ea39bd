"""Decides from runs of two versions in pairs whether one is slower, and by how much.

A pair is a run of A and a run of B back to back, in random order, so that a drifting load on the machine
affects both. The run is the unit: its steps are not independent of each other, and pooling them calls 42 to
82 % of equal programs different. Of each pair counts d = ln(B / A).

Pairs are looked at one by one, from the fifth on. Who looks often errs often, so each look may err by a part
of 5 % only. The part that was spent by pair n is 5 % * (n / 12)^2: "rho = 2" of Kim and DeMets, Biometrika
74 (1987); Jennison and Turnbull, Group Sequential Methods, 7.2.2. All intervals of a session hold the true
ratio together with 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from math import atan, cos, exp, expm1, log, pi, sin, sqrt, tan
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt

from perfprobe.support.frozen import frozen

FEWEST = 5  # pairs; fewer give no interval
MOST = 12
LIMIT = 0.03  # a change that is looked for, unless another is asked for
ERROR = 0.05  # of all looks together
_FEWEST_FLIPS = 6  # of five pairs the smallest p is 6 %: it could never show anything
_MOST_FLIPS = 32
_UNKNOWN_LEAST = 0.1  # two runs of one program seldom differ by more
# The error of each look, so that all up to it together have spent their part. `benchmarks/paired.py` finds
# these numbers, by simulation.
LOOKS = {5: 0.0087, 6: 0.0075, 7: 0.0088, 8: 0.0109, 9: 0.0136, 10: 0.0169, 11: 0.0206, 12: 0.0248}


class Verdict(Enum):
    """What pairs say of B beside A."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    UNKNOWN = "cannot tell"


@frozen(kw_only=True)
class Difference:
    """B beside A.

    Attributes:
        pairs: number of pairs.
        ratio: B / A, the geometric mean of the pairs.
        low, high: its interval; None with fewer than five pairs.
        error: how often an interval like this one may miss.
        p: how likely as large a ratio is if A and B are the same, by flipping signs (exact); None with fewer
            than six pairs or more than 32.
        least: the smallest change that could have been claimed, 0.02 for 2 %; with fewer than five pairs that
            which five like them could claim.
    """

    pairs: int
    ratio: float
    low: float | None
    high: float | None
    error: float
    p: float | None
    least: float

    @property
    def is_certain(self) -> bool:
        """Whether A and B differ."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    def verdict(self, limit: float = LIMIT) -> Verdict:
        """What this says. Same: a change of more than the limit is ruled out."""
        if self.low is None:
            return Verdict.UNKNOWN
        if self.is_certain:
            return Verdict.SLOWER if self.low > 1 else Verdict.FASTER
        return Verdict.SAME if self._is_within(limit) else Verdict.UNKNOWN

    def is_enough(self, limit: float = LIMIT) -> bool:
        """Whether more pairs are not needed: half the limit is ruled out, or more than it is certain."""
        if self.low is None or self.high is None:
            return False
        return self._is_within(limit / 2) or self.low > 1 + limit or self.high < 1 / (1 + limit)

    def _is_within(self, limit: float) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low >= 1 / (1 + limit) and self.high <= 1 + limit


def difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    looked: bool = True,
    spread: float | None = None,
    among: int = 1,
) -> Difference:
    """What pairs of runs say.

    Args:
        before, after: the values of A and of B, pair by pair; at least one, all positive.
        looked: whether pairs were looked at one by one, to stop when they are enough. False for runs whose
            number does not depend on what they showed.
        spread: standard deviation of d if it is known from elsewhere; for a single pair.
        among: how many differences are judged together, none of which may be wrong (Bonferroni).
    """
    values = [log(b / a) for a, b in zip(before, after, strict=True)]
    error = error_of(len(values), looked=looked) / among
    middle, low, high = interval(values, error)
    known = stdev(values) if len(values) > 1 else spread
    return Difference(
        pairs=len(values),
        ratio=exp(middle),
        low=None if low is None else exp(low),
        high=None if high is None else exp(high),
        error=error,
        p=flipped(values),
        least=_UNKNOWN_LEAST if known is None else expm1(_half(known, max(len(values), FEWEST), error)),
    )


def error_of(pairs: int, *, looked: bool = True) -> float:
    """How often an interval of so many pairs may miss. looked: see `difference`."""
    return LOOKS.get(min(max(pairs, FEWEST), MOST), ERROR) if looked else ERROR


def interval(values: Sequence[float], error: float = ERROR) -> tuple[float, float | None, float | None]:
    """The mean of at least one value and its interval by Student's t; None with fewer than five values."""
    middle = fmean(values)
    if len(values) < FEWEST:
        return middle, None, None
    half = _half(stdev(values), len(values), error)
    return middle, middle - half, middle + half


def _half(spread: float, count: int, error: float) -> float:
    """Half the interval of the mean of so many values."""
    return t_quantile(count - 1, error) * spread / sqrt(count)


def chance(values: Sequence[float]) -> float:
    """How likely a mean as far from 0 is if the true one is 0, by Student's t; at least two values."""
    error = stdev(values) / sqrt(len(values))
    if error == 0:
        return 1.0 if fmean(values) == 0 else 0.0
    return t_chance(len(values) - 1, abs(fmean(values)) / error)


def flipped(values: Sequence[float]) -> float | None:
    """The part of all ways to flip signs in which the sum is as far from 0: exact, for any symmetric noise.

    The sums of both halves are made separately, so that 32 values need 65,536 sums each.
    """
    count = len(values)
    if not _FEWEST_FLIPS <= count <= _MOST_FLIPS:
        return None
    half = count // 2
    first, second = _signed(values[:half]), np.sort(_signed(values[half:]))
    least = abs(sum(values)) * (1 - 1e-12)
    above = len(second) - np.searchsorted(second, least - first)
    below = np.searchsorted(second, -least - first, "right")
    return float(above.sum() + below.sum()) / 2**count if least > 0 else 1.0


def _signed(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """The sums of these values with all combinations of signs."""
    sums = np.zeros(1, np.float64)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def holm(chances: Sequence[float]) -> list[float]:
    """The chances, each raised so that 5 % bounds the error of all together.

    Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    found, least = [0.0] * len(chances), 0.0
    for rank, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min((len(chances) - rank) * chances[at], 1.0))
        found[at] = least
    return found


@lru_cache
def t_quantile(degrees: int, error: float) -> float:
    """The value that Student's t exceeds, on either side, with this probability in total."""
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < 1 - error else (low, middle)
    return tan(low) * sqrt(degrees)


def t_chance(degrees: int, distance: float) -> float:
    """How likely Student's t is as far from 0, on either side."""
    return 1 - _within(atan(distance / sqrt(degrees)), degrees)


def _within(angle: float, degrees: int) -> float:
    """How likely |t| is below tan(angle) * sqrt(degrees): Abramowitz and Stegun 26.7.3 and 26.7.4."""
    odd, square = degrees % 2, cos(angle) ** 2
    term, total = (cos(angle), 0.0) if odd else (1.0, 0.0)
    for at in range(degrees // 2):
        total += term
        term *= square * ((2 * at + 2) / (2 * at + 3) if odd else (2 * at + 1) / (2 * at + 2))
    return (angle + sin(angle) * total) * 2 / pi if odd else sin(angle) * total
