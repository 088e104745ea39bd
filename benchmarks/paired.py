"""How often pairs of runs of equal programs are called different, how often a change is found, and how soon.

A run has 200 steps with AR(1) noise of 4 % (coefficient 0.6) and 2 % of steps half as long again; runs differ
by 1.5 %, and the machine drifts by 4 % in a session of 12 pairs (a random walk). Pairs are looked at one by
one, as `perfprobe compare` does.

    python -m benchmarks.paired [--sessions 2000] [--levels 2000000]

--levels: instead, simulate the error of each look, for `LOOKS` in perfprobe/models/paired.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.overhead.tables import markdown
from perfprobe.models.paired import ERROR, FEWEST, LIMIT, MOST, Verdict, difference

Floats = npt.NDArray[np.float64]
STEPS = 200
_RUN, _DRIFT, _STEP, _AFTER = 0.015, 0.04, 0.04, 0.6
CHANGES = (0.0, 0.01, 0.03, -0.03, 0.05, 0.15)


class Sessions(NamedTuple):
    """How many sessions ended with each verdict, after how many pairs on average.

    missed: intervals that do not hold the true change.
    """

    verdicts: Counter[Verdict]
    pairs: float
    missed: int


def main() -> None:
    """Print a row for each true change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--levels", type=int)
    given = parser.parse_args()
    if given.levels is not None:
        print({pairs: round(level, 4) for pairs, level in levels(given.levels).items()})
        return
    rows = [
        [f"{100 * change:+.0f} %", *_cells(simulated(given.sessions, change), given.sessions)]
        for change in CHANGES
    ]
    print(markdown(["true change", *(verdict.value for verdict in Verdict), "missed", "pairs"], rows))


def _cells(found: Sessions, sessions: int) -> list[str]:
    counts = [*(found.verdicts[verdict] for verdict in Verdict), found.missed]
    return [*(f"{100 * count / sessions:.1f} %" for count in counts), f"{found.pairs:.1f}"]


def simulated(sessions: int, change: float, *, limit: float = LIMIT, seed: int = 11) -> Sessions:
    """Sessions of two programs of which B takes so much longer."""
    before, after = runs(np.random.default_rng(seed), sessions)
    after = after * (1 + change)
    verdicts: Counter[Verdict] = Counter()
    pairs = missed = 0
    for a, b in zip(before.tolist(), after.tolist(), strict=True):
        for count in range(FEWEST, MOST + 1):
            found = difference(a[:count], b[:count])
            if found.is_enough(limit):
                break
        verdicts[found.verdict(limit)] += 1
        pairs += found.pairs
        missed += not (found.low or 0) <= 1 + change <= (found.high or 0)
    return Sessions(verdicts, pairs / sessions, missed)


def runs(random: np.random.Generator, sessions: int) -> tuple[Floats, Floats]:
    """The means of the steps of both programs, equal ones, for each session and pair."""
    count = 2 * MOST
    steps = random.normal(0, np.sqrt(1 - _AFTER**2), (STEPS, sessions, count))
    for at in range(1, STEPS):
        steps[at] += _AFTER * steps[at - 1]
    walk = np.cumsum(random.normal(0, _DRIFT / np.sqrt(count), (sessions, count)), axis=1)
    level = 1 + walk + random.normal(0, _RUN, (sessions, count))
    far = 1 + 0.5 * (random.random(steps.shape) < 0.02)
    value = ((level + _STEP * steps) * far).mean(axis=0).reshape(sessions, MOST, 2)
    flip = random.random((sessions, MOST)) < 0.5
    return np.where(flip, value[..., 1], value[..., 0]), np.where(flip, value[..., 0], value[..., 1])


def levels(sessions: int) -> dict[int, float]:
    """The error of each look at which all looks up to it spend 5 % * (n / 12)^2, for normal differences."""
    from perfprobe.models.paired import t_chance

    random, alive, spent, found = np.random.default_rng(5), np.ones(sessions, np.bool_), 0, {}
    total, squares = np.zeros(sessions), np.zeros(sessions)
    for pairs in range(1, MOST + 1):
        value = random.normal(size=sessions)
        total, squares = total + value, squares + value**2
        if pairs < FEWEST:
            continue
        deviation = np.sqrt((squares - total**2 / pairs) / (pairs - 1))
        distance = np.abs(total) / np.sqrt(pairs) / deviation
        more = round(ERROR * (pairs / MOST) ** 2 * sessions) - spent
        edge = float(np.sort(distance[alive])[-more])
        alive &= distance < edge
        spent += more
        found[pairs] = t_chance(pairs - 1, edge)
    return found


if __name__ == "__main__":
    main()
