"""Versions of a program with the gain of each over the one before and over the first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log, sqrt

from perfprobe.models.paired import ERROR, t_quantile
from perfprobe.support.frozen import frozen
from perfprobe.tables.history import Against, HistoryLine

_COMMIT = 9  # letters of a commit that are shown


@frozen(kw_only=True)
class Gain:
    """How many times as fast. low, high: its interval, None if it was not measured in pairs."""

    times: float
    low: float | None = None
    high: float | None = None

    @property
    def is_certain(self) -> bool:
        """Whether it is certainly faster or slower."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


@frozen(kw_only=True)
class HistoryRow:
    """A version. gain: over the row above, of the first one None. of_first: over the first row."""

    version: str
    date: str
    runs: int
    step_ns: float
    samples_per_s: float | None
    utilisation: float | None
    peak_bytes: int | None
    gain: Gain | None
    of_first: Gain | None
    is_other_machine: bool


def history_rows(lines: Sequence[HistoryLine]) -> list[HistoryRow]:
    """A row for each version, in order."""
    gains = [None, *(_gain(before, after) for before, after in pairwise(lines))]
    return [
        HistoryRow(
            version=line.label if not line.commit else _named(line),
            date=line.when[:10],
            runs=line.runs,
            step_ns=line.step_ns,
            samples_per_s=line.samples_s,
            utilisation=line.utilisation,
            peak_bytes=line.peak_bytes,
            gain=gains[at],
            of_first=None
            if at == 0
            else _over_first(lines, at, [each for each in gains[1 : at + 1] if each]),
            is_other_machine=at > 0 and line.machine != lines[at - 1].machine,
        )
        for at, line in enumerate(lines)
    ]


def _named(line: HistoryLine) -> str:
    short = line.commit[:_COMMIT]
    return short if line.label in ("", line.commit) else f"{line.label} ({short})"


def _gain(before: HistoryLine, after: HistoryLine) -> Gain:
    """From pairs if the two were compared so, else from their times, which may differ for other reasons."""
    found = after.against
    if found is None or not before.is_same_version(found.label, found.commit):
        return Gain(times=before.step_ns / max(after.step_ns, 1))
    return Gain(
        times=1 / found.ratio,
        low=None if found.high is None else 1 / found.high,
        high=None if found.low is None else 1 / found.low,
    )


def _over_first(lines: Sequence[HistoryLine], at: int, gains: Sequence[Gain]) -> Gain:
    """The product of the gains. With an interval if all were measured in pairs: their variances add up."""
    known = [each.against for each in lines[1 : at + 1]]
    times = exp(sum(log(gain.times) for gain in gains))
    if any(each is None or gain.low is None for each, gain in zip(known, gains, strict=True)):
        return Gain(times=times)
    half = sqrt(sum(_half(each) ** 2 for each in known if each is not None))
    return Gain(times=times, low=times * exp(-half), high=times * exp(half))


def _half(found: Against) -> float:
    """Half the interval of the logarithm, as it were with an error of 5 % whatever it was."""
    if found.low is None or found.high is None:
        return 0.0
    degrees = max(found.pairs - 1, 1)
    width = log(found.high / found.low) / 2
    return width * t_quantile(degrees, ERROR) / t_quantile(degrees, found.error)
