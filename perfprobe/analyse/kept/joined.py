"""Joins the recordings of one run: how step times changed, and because of which lines."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings
from perfprobe.tables.kept import Change, Drift, FileLoss, KeptPart, KeptRun, LineTime, Stretch
from perfprobe.tables.trace import Line

_FIFTH = 0.2
_FEWEST = 10  # stretches of steps
_MOST_LINES = 3


def joined(parts: Sequence[KeptPart], losses: Sequence[FileLoss] = ()) -> KeptRun:
    """Returns the run, its parts ordered by time."""
    ordered = sorted(parts, key=lambda part: part.stretches[0].start_s if part.stretches else 0)
    stretches = [each for part in ordered for each in part.stretches]
    return KeptRun(ordered, median_of(stretches), drift(ordered, stretches), losses)


def losses_of(path: str, found: Findings) -> list[FileLoss]:
    """Returns the losses of one file."""
    losses = found.get(Losses) or Losses.empty()
    return [FileLoss(path, *loss) for loss in zip(losses.source, losses.reason, strict=True)]


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
    noise = max(_noise([each.median_ns for each in part]) for part in (first, last))
    medians = Change(median_of(first), median_of(last), noise)
    own = _own(first, last)
    grows = (own or medians).share > 0
    return Drift(medians, own, _more(parts, stretches, len(first), len(last), grows=grows))


def _own(first: Sequence[Stretch], last: Sequence[Stretch]) -> Change | None:
    """The change of the mean without waiting for a processor: the median over stretches.

    None if the waiting is not known for most of them; that of a run's first step never is.
    """
    times_ns = [[each.own_ns for each in part if each.own_ns is not None] for part in (first, last)]
    if any(2 * len(known) <= len(part) for known, part in zip(times_ns, (first, last), strict=True)):
        return None
    before_ns, behind_ns = (round(float(np.median(known))) for known in times_ns)
    return Change(before_ns, behind_ns, max(map(_noise, times_ns)))


def _noise(times_ns: Sequence[float]) -> float:
    middle = float(np.median(times_ns))
    return 2 * float(np.median(np.abs(np.array(times_ns) - middle))) / max(middle, 1)


def _columns(stretches: Sequence[Stretch]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return (
        np.array([each.median_ns for each in stretches], np.float64),
        np.array([each.steps for each in stretches], np.float64),
    )


def _steps(stretches: Sequence[Stretch]) -> int:
    return max(sum(each.steps - each.slow for each in stretches), 1)


def _more(
    parts: Sequence[KeptPart], stretches: Sequence[Stretch], first: int, last: int, *, grows: bool
) -> list[LineTime]:
    """The lines whose time in a step changed most in the direction of the drift.

    first, last: how many stretches at the beginning and at the end are compared.
    """
    sums = list(_sums(parts, stretches))
    before = _means([each for each in sums if each.stop <= first])
    behind = _means([each for each in sums if each.start >= len(stretches) - last])
    if not before or not behind:
        return []
    sign = 1 if grows else -1
    changed = {line: behind.get(line, 0) - before.get(line, 0) for line in {*before, *behind}}
    most = sorted(changed, key=lambda line: sign * changed[line], reverse=True)[:_MOST_LINES]
    return [LineTime(line, changed[line]) for line in most if sign * changed[line] > 0]


class _Sums(NamedTuple):
    """Time by line in the ordinary steps of some stretches, from number `start` to before number `stop`.

    own: the share of these steps' time during which the thread did not wait for a processor. Samples do not
    show that waiting, so each line counts with this share of its time.
    """

    start: int
    stop: int
    steps: int
    own: float
    lines: Counter[Line]


def _sums(parts: Sequence[KeptPart], stretches: Sequence[Stretch]) -> Iterator[_Sums]:
    """The sums of each time at which they were written, which may be rarer than stretches of steps."""
    by_time: dict[float, Counter[Line]] = defaultdict(Counter)
    for part in parts:
        for until_s, line, time_ns in part.lines:
            by_time[until_s][line] += time_ns
    ends_s = [each.end_s for each in stretches]
    start, lines = 0, Counter[Line]()
    for until_s in sorted(by_time):
        lines += by_time[until_s]
        stop = bisect_right(ends_s, until_s)
        if stop > start:
            some = stretches[start:stop]
            yield _Sums(start, stop, _steps(some), _own_share(some), lines)
            start, lines = stop, Counter[Line]()


def _own_share(stretches: Sequence[Stretch]) -> float:
    known = [(each.waited_ns, each.total_ns) for each in stretches if each.waited_ns is not None]
    total_ns = sum(whole_ns for _, whole_ns in known)
    return max(1 - sum(waited_ns for waited_ns, _ in known) / total_ns, 0) if total_ns > 0 else 1


def _means(sums: Sequence[_Sums]) -> dict[Line, float]:
    """Time in a step, without waiting for a processor."""
    together: dict[Line, float] = defaultdict(float)
    for each in sums:
        for line, time_ns in each.lines.items():
            together[line] += each.own * time_ns
    steps = sum(each.steps for each in sums)
    return {line: time_ns / steps for line, time_ns in together.items()}
