"""Reads the settings of a sweep, chooses the order of its runs, and evaluates their times.

A gain is the ratio of the times of two runs of the same round, so that a drifting load on the machine affects
both. Its interval is the confidence interval of the median by order statistics, which assumes nothing about
the distribution (Conover, Practical Nonparametric Statistics, section 3.2).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median

from perfprobe.models.intervals import covering_interval
from perfprobe.support.errors import UsageError
from perfprobe.tables.sweep import Sweep, SweepRow, SweepSetting

_WORDS = {
    "active": ("OMP_WAIT_POLICY", "active"),
    "passive": ("OMP_WAIT_POLICY", "passive"),
    "close": ("OMP_PROC_BIND", "close"),
    "spread": ("OMP_PROC_BIND", "spread"),
}
AS_IT_IS = SweepSetting("as it is")
WORKERS = "{workers}"  # stands for the number of workers in the arguments of the program


def settings(threads: str, workers: str | None = None) -> tuple[SweepSetting, ...]:
    """Returns the program as it is, then each setting of `threads` with each number of `workers`.

    Args:
        threads: settings as in `1,2,2+passive`.
        workers: numbers of workers as in `0,2,4`; None to leave them as they are.

    Raises:
        UsageError: a word is not a setting.
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
            raise UsageError(
                "unknown setting of threads", word, f"known: {', '.join(_WORDS)}, as in 2+passive"
            )
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
    """Returns the indices of all settings, shuffled differently for each round."""
    found = list(range(number))
    random.Random(round_).shuffle(found)
    return found


def rows(sweep: Sweep) -> list[SweepRow]:
    """Returns a row for each setting that ran in a round with the program as it is, which comes first."""
    times = {(run.setting, run.round): run for run in sweep.runs}
    found = []
    for at, setting in enumerate(sweep.settings):
        runs = [run for run in sweep.runs if run.setting == at and (0, run.round) in times]
        if not runs:
            continue
        gains = [times[0, run.round].time_ns / run.time_ns for run in runs]
        low, high, coverage = covering_interval(gains)
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


def best(found: Sequence[SweepRow]) -> SweepRow | None:
    """Returns the setting with the largest gain whose interval lies above 1, None if there is none."""
    faster = [row for row in found[1:] if row.low > 1]
    return max(faster, key=lambda row: row.gain, default=None)


def ignored(found: Sequence[SweepRow]) -> bool:
    """Returns whether the program had another number of threads than the setting asked for."""
    return any(row.asked is not None and row.threads not in (None, row.asked) for row in found)


def _asked(setting: SweepSetting) -> int | None:
    number = setting.variables.get("OMP_NUM_THREADS")
    return None if number is None else int(number)
