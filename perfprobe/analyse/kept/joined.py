"""Joins the recordings of one run: how step times changed, and because of which lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfprobe.tables.kept import Drift, KeptPart, KeptRun, LineTime, Stretch
from perfprobe.tables.trace import Line

_FIFTH = 0.2
_FEWEST = 10  # stretches of steps
_MOST_LINES = 3


def joined(parts: Sequence[KeptPart]) -> KeptRun:
    """Returns the run, its parts ordered by time."""
    ordered = sorted(parts, key=lambda part: part.stretches[0].start_s if part.stretches else 0)
    stretches = [each for part in ordered for each in part.stretches]
    return KeptRun(ordered, median_of(stretches), drift(ordered, stretches))


def median_of(stretches: Sequence[Stretch]) -> int:
    """Returns the median of the stretches' medians, weighted by steps; 0 without stretches."""
    if not stretches:
        return 0
    medians_ns, steps = _columns(stretches)
    order = np.argsort(medians_ns, kind="stable")
    middle = np.searchsorted(np.cumsum(steps[order]), steps.sum() / 2)
    return int(medians_ns[order][min(int(middle), len(order) - 1)])


def drift(parts: Sequence[KeptPart], stretches: Sequence[Stretch]) -> Drift | None:
    """Compares the last fifth of the time with the first; None with fewer than ten stretches."""
    if len(stretches) < _FEWEST:
        return None
    start_s, end_s = stretches[0].start_s, stretches[-1].end_s
    early_s, late_s = start_s + _FIFTH * (end_s - start_s), end_s - _FIFTH * (end_s - start_s)
    first = [each for each in stretches if each.end_s <= early_s]
    last = [each for each in stretches if each.start_s >= late_s]
    if not first or not last:
        return None
    first_ns, last_ns = median_of(first), median_of(last)
    noise = max(_noise(first), _noise(last))
    lines = _more(parts, early_s, late_s, _steps(first), _steps(last), grows=last_ns > first_ns)
    return Drift(first_ns, last_ns, last_ns / max(first_ns, 1) - 1, noise, lines)


def _noise(stretches: Sequence[Stretch]) -> float:
    medians_ns, _ = _columns(stretches)
    middle = float(np.median(medians_ns))
    return 2 * float(np.median(np.abs(medians_ns - middle))) / max(middle, 1)


def _columns(stretches: Sequence[Stretch]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return (
        np.array([each.median_ns for each in stretches], np.float64),
        np.array([each.steps for each in stretches], np.float64),
    )


def _steps(stretches: Sequence[Stretch]) -> int:
    return max(sum(each.steps - each.slow for each in stretches), 1)


def _more(
    parts: Sequence[KeptPart], early_s: float, late_s: float, first: int, last: int, *, grows: bool
) -> list[LineTime]:
    """The lines whose time in a step changed most in the direction of the drift."""
    before: Counter[Line] = Counter()
    behind: Counter[Line] = Counter()
    for part in parts:
        for until_s, line, time_ns in part.lines:
            if until_s <= early_s:
                before[line] += time_ns
            elif until_s >= late_s:
                behind[line] += time_ns
    sign = 1 if grows else -1
    changed = {line: behind[line] / last - before[line] / first for line in {*before, *behind}}
    most = sorted(changed, key=lambda line: sign * changed[line], reverse=True)[:_MOST_LINES]
    return [LineTime(line, changed[line]) for line in most if sign * changed[line] > 0]
