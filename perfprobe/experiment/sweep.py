"""Runs a whole program with different settings of threads, in rounds with the program as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from perfprobe.experiment.private import exit_code_of, private_folder
from perfprobe.experiment.rounds import INTERRUPTED, TIME_IS_UP, Progress, Ran, Rounds
from perfprobe.experiment.thread_settings import WORKERS
from perfprobe.experiment.variant import Variant
from perfprobe.models.paired import ERROR, FEWEST, MOST, Difference, difference
from perfprobe.support.errors import UsageError
from perfprobe.tables.run_value import RunValue
from perfprobe.tables.sweep import Sweep, SweepRow, SweepRun, SweepSetting

# Operators are enough to find steps. Everything else is switched off, because it costs time.
_RECORDED = ("-q", "--python", "off", "--gpu", "off", "--children", "off")
_GAIN = 0.03  # a setting that gains less is not worth more rounds


def swept(
    words: Sequence[str],
    settings: Sequence[SweepSetting],
    *,
    rounds: int,
    time_s: float | None,
    progress: Progress,
) -> Sweep:
    """Run the program with each setting, the first of which is the program as it is.

    Args:
        words: the script and its arguments, or `-m MODULE` and its arguments.
        rounds: how often at most; fewer if the time is up, or if it is known of all settings what they gain.

    Raises:
        InputError: the program failed.
        UsageError: numbers of workers are requested, but no argument of the program has `{workers}`.
    """
    if settings[0].workers is not None and not any(WORKERS in word for word in words):
        remedy = "write it where the number belongs: --workers 0,2 -- train.py --num-workers {workers}"
        raise UsageError("no argument of the program is {workers}", "--workers", remedy)
    variants = [_variant(words, setting) for setting in settings]
    program = Variant(name="", words=tuple(words)).shown
    found: list[SweepRun] = []
    stopped, exit_code = "", 0
    try:
        with private_folder() as folder:
            whole = rounds * len(settings)
            runs = Rounds(variants, folder, progress=progress, time_s=time_s, whole=whole)
            for number, ran in enumerate(runs.rounds(rounds, _RECORDED)):
                found += [_run(each, number) for each in ran]
                if _is_enough(Sweep(program, tuple(settings), tuple(found))):
                    break
            stopped = TIME_IS_UP if runs.is_late else ""
    except KeyboardInterrupt as error:
        stopped, exit_code = INTERRUPTED, exit_code_of(error)
    return Sweep(program, tuple(settings), tuple(found), stopped, exit_code)


def _variant(words: Sequence[str], setting: SweepSetting) -> Variant:
    program = tuple(word.replace(WORKERS, str(setting.workers)) for word in words)
    return Variant(name="", words=program, variables=setting.variables)


def _run(ran: Ran, number: int) -> SweepRun:
    value = ran.value
    threads = value.threads if value.threads > 0 else None
    return SweepRun(ran.variant, number, _time_ns(value), value.steps, threads)


def _time_ns(value: RunValue) -> float:
    """The mean step; of a program without steps the run. Waiting for its own threads must count."""
    return value.wall_ns if value.steps > 0 else float(max(value.whole_ns, 1))


def rows(sweep: Sweep) -> list[SweepRow]:
    """Returns a row for each setting that ran in a round with the program as it is, which comes first."""
    times_ns = {(run.setting, run.round): run.time_ns for run in sweep.runs}
    found = []
    for at, setting in enumerate(sweep.settings):
        runs = [run for run in sweep.runs if run.setting == at and (0, run.round) in times_ns]
        if not runs:
            continue
        before, after = [times_ns[0, run.round] for run in runs], [run.time_ns for run in runs]
        gain = _gain(before, after, len(sweep.settings) - 1)
        found.append(
            SweepRow(
                setting=setting.name,
                time_ns=sum(after) / len(after),
                pairs=len(runs),
                gain=1 / gain.ratio,
                low=None if gain.high is None else 1 / gain.high,
                high=None if gain.low is None else 1 / gain.low,
                coverage=1 - ERROR,
                asked=_asked(setting),
                threads=runs[-1].threads,
                to_paste=setting.to_paste,
            )
        )
    return found


def _gain(before: Sequence[float], after: Sequence[float], settings: int) -> Difference:
    """A setting beside the program as it is. Looks are counted as long as there may be more of them."""
    return difference(before, after, looked=len(before) <= MOST, among=max(settings, 1))


def _is_enough(sweep: Sweep) -> bool:
    """Whether it is known of all settings what they gain."""
    pairs = {run.round for run in sweep.runs}
    if not FEWEST <= len(pairs) <= MOST:
        return False
    times_ns = [[run.time_ns for run in sweep.runs if run.setting == at] for at in range(len(sweep.settings))]
    gains = [_gain(times_ns[0], each, len(times_ns) - 1) for each in times_ns[1:]]
    return all(gain.is_enough(_GAIN) for gain in gains)


def best(found: Sequence[SweepRow]) -> SweepRow | None:
    """Returns the setting with the largest gain whose interval lies above 1, None if there is none."""
    faster = [row for row in found[1:] if row.low is not None and row.low > 1]
    return max(faster, key=lambda row: row.gain, default=None)


def ignored(found: Sequence[SweepRow]) -> bool:
    """Returns whether the program had another number of threads than the setting asked for."""
    return any(row.asked is not None and row.threads not in (None, row.asked) for row in found)


def _asked(setting: SweepSetting) -> int | None:
    number = setting.variables.get("OMP_NUM_THREADS")
    return None if number is None else int(number)


def text(sweep: Sweep, *, width: int, color: bool) -> str:
    """The results as text."""
    from perfprobe.report.render.text import page
    from perfprobe.report.section.sweep import sweep_blocks

    found = rows(sweep)
    return page(sweep_blocks(sweep, found, best(found), ignored(found)), width=width, color=color)


def document(sweep: Sweep) -> dict[str, Any]:
    """The results, ready for json.dumps."""
    found = rows(sweep)
    chosen = None if ignored(found) else best(found)
    return {
        "schema": 1,
        "meta": {"program": sweep.program, "by_steps": sweep.by_steps, "stopped": sweep.stopped or None},
        "tables": {
            "settings": [asdict(row) for row in found],
            "runs": [{**asdict(run), "setting": sweep.settings[run.setting].name} for run in sweep.runs],
        },
        "recommended": None if chosen is None else chosen.to_paste,
    }
