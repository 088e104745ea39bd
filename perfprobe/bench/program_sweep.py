"""Settings of a sweep, the order of its runs, and what their times say.

A gain is a ratio of two runs of one round, so that a machine whose load drifts disturbs both alike. Its
interval is that of the median by order statistics, which assumes nothing of the distribution (Conover,
Practical Nonparametric Statistics, section 3.2).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import comb
from statistics import median

from perfprobe.support.errors import UsageError
from perfprobe.tables.sweep import Sweep, SweepRow, SweepSetting

_WORDS = {
    "active": ("OMP_WAIT_POLICY", "active"),
    "passive": ("OMP_WAIT_POLICY", "passive"),
    "close": ("OMP_PROC_BIND", "close"),
    "spread": ("OMP_PROC_BIND", "spread"),
}
_COVERAGE = 0.95
AS_IT_IS = SweepSetting("as it is")
WORKERS = "{workers}"  # in a word of the program: its number of workers


def settings(threads: str, workers: str | None = None) -> tuple[SweepSetting, ...]:
    """The program as it is, and each of `1,2,2+passive`, with each number of workers.

    Raises:
        UsageError: a word that is no setting.
    """
    words = [] if workers is None else workers.split(",")
    numbers: list[int | None] = [*(_whole(word, 0) for word in words)] or [None]
    found = [_setting(word.strip(), number) for word in threads.split(",") for number in numbers]
    as_it_is = AS_IT_IS if workers is None else SweepSetting(AS_IT_IS.name, {}, numbers[0])
    return as_it_is, *found


def _setting(text: str, workers: int | None) -> SweepSetting:
    first, *words = text.split("+")
    number = str(_whole(first, 1))
    variables = {"OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number}
    for word in words:
        if word not in _WORDS:
            raise UsageError("no setting of threads", word, f"known: {', '.join(_WORDS)}, as in 2+passive")
        variables |= [_WORDS[word]]
    how = "".join(f" {word}" for word in words)
    many = "" if workers is None else f", {workers} workers"
    name = f"{number} thread{'' if number == '1' else 's'}{how}{many}"
    return SweepSetting(name, variables, workers)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) >= least):
        raise UsageError("not a number of threads or workers", text, "write them as in --sweep 1,2,4")
    return int(text)


def order(number: int, round_: int) -> list[int]:
    """The settings of a round, each once, in an order of its own."""
    found = list(range(number))
    random.Random(round_).shuffle(found)
    return found


def rows(sweep: Sweep) -> list[SweepRow]:
    """A row for each setting that ran beside the program as it is, that one first."""
    times = {(run.setting, run.round): run for run in sweep.runs}
    found = []
    for at, setting in enumerate(sweep.settings):
        runs = [run for run in sweep.runs if run.setting == at and (0, run.round) in times]
        if not runs:
            continue
        gains = sorted(times[0, run.round].time_ns / run.time_ns for run in runs)
        low, high, coverage = interval(gains)
        found.append(
            SweepRow(
                setting=setting.name,
                time_ns=median(run.time_ns for run in runs),
                pairs=len(runs),
                gain=median(gains),
                low=low,
                high=high,
                coverage=coverage,
                asked=_asked(setting),
                threads=runs[-1].threads,
                to_paste=setting.to_paste,
            )
        )
    return found


def interval(ordered: Sequence[float]) -> tuple[float, float, float]:
    """Low and high of the median of these values, and how certain: as near to 95 % as their number allows.

    With fewer than six, lowest and highest are not that certain.
    """
    number = len(ordered)
    best = (ordered[0], ordered[-1], 1 - 2 * 0.5**number)
    for cut in range(1, (number + 1) // 2):
        coverage = 1 - 2 * sum(comb(number, k) for k in range(cut + 1)) * 0.5**number
        if coverage < _COVERAGE:
            break
        best = (ordered[cut], ordered[number - 1 - cut], coverage)
    return best


def best(found: Sequence[SweepRow]) -> SweepRow | None:
    """The setting with the largest gain of those that are faster for certain; None where none is."""
    faster = [row for row in found[1:] if row.low > 1]
    return max(faster, key=lambda row: row.gain, default=None)


def ignored(found: Sequence[SweepRow]) -> bool:
    """Whether the program had another number of threads than it was asked to have."""
    return any(row.asked is not None and row.threads not in (None, row.asked) for row in found)


def _asked(setting: SweepSetting) -> int | None:
    number = setting.variables.get("OMP_NUM_THREADS")
    return None if number is None else int(number)
