"""Tries changes on a program and says what each gains: `perfprobe advise`."""

from __future__ import annotations

import os
from dataclasses import asdict, replace

from perfprobe.collect.tries.declared import asked
from perfprobe.experiment.copied import folder as looked_at
from perfprobe.experiment.edited import diff
from perfprobe.experiment.private import exit_code_of, private_folder
from perfprobe.experiment.rounds import INTERRUPTED, TIME_IS_UP
from perfprobe.experiment.stacked import automatic, stacked
from perfprobe.experiment.suggested import proposed, tries_of
from perfprobe.experiment.trial import Trials
from perfprobe.experiment.variant import typed
from perfprobe.models.paired import MOST
from perfprobe.support.errors import UsageError
from perfprobe.support.frozen import frozen
from perfprobe.support.text import harmless
from perfprobe.tables.tried import Outcome, Proposed, Trial, Tried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from perfprobe.experiment.copied import Folder
    from perfprobe.experiment.rounds import Progress
    from perfprobe.experiment.variant import Variant

__all__ = ["Plan", "document", "exit_code", "gate", "plan", "text", "tried"]

_GATE_EXIT = 5
_TOGETHER = "+"


@frozen(kw_only=True)
class Plan:
    """What is tried.

    tries: each one or more words, together; () for what a recording proposes. most: pairs of each.
    """

    program: Variant
    source: Folder
    tries: tuple[tuple[str, ...], ...]
    is_auto: bool
    time_s: float | None
    most: int = MOST


def plan(
    words: Sequence[str],
    tries: Sequence[str],
    *,
    links: Sequence[str] = (),
    is_auto: bool = False,
    time_s: float | None = None,
    most: int = MOST,
) -> Plan:
    """Looks at what is asked for, before anything runs.

    Args:
        words: the program and its arguments.
        tries: words of `perfprobe run --try`; `a+b` tries them together. (): what a recording of the
            program proposes, or if that is nothing, all.
        links: paths of large data in the folder, that the program only reads.
        is_auto: whether what helps is put together.

    Raises:
        PerfprobeError: the program reads input, a word is no try, or the folder cannot be copied.
    """
    program = typed("", words)
    if program.words[0] == "-":
        raise UsageError("the program is read from standard input", "-", "write it to a file")
    chosen = [tuple(each.split(_TOGETHER)) for each in tries]
    for each in chosen:
        asked(each)
    return Plan(
        program=program,
        source=looked_at(os.curdir, links),
        tries=tuple(dict.fromkeys(chosen)),
        is_auto=is_auto,
        time_s=time_s,
        most=most,
    )


def tried(asked_for: Plan, progress: Progress) -> Trial:
    """Runs the tries.

    Raises:
        PerfprobeError: the unchanged program fails.
    """
    with private_folder() as folder:
        trials = Trials(
            asked_for.program,
            asked_for.source,
            folder,
            time_s=asked_for.time_s,
            progress=progress,
            most=asked_for.most,
        )
        found: list[Tried] = []
        proposals: tuple[Proposed, ...] = ()
        together: tuple[Tried | None, tuple[str, ...]] = (None, ())
        try:
            trials.begin()
            proposals = () if asked_for.tries else proposed(trials.record())
            found = trials.measure(asked_for.tries or tries_of(proposals) or automatic())
            if asked_for.is_auto and trials.interrupt is None:
                together = stacked(trials, found)
        except KeyboardInterrupt as error:
            trials.interrupt = error
        paces = trials.unchanged
        made = Trial(
            program=asked_for.program.shown,
            step_ns=sum(pace.own_ns for pace in paces) / max(len(paces), 1),
            by_steps=trials.by_steps,
            steps=max((pace.all_steps for pace in paces), default=0),
            runs=trials.runs,
            time_s=trials.spent_s,
            itself=trials.floor.text if paces else "",
            tried=tuple(found),
            proposed=proposals,
            stack=together[0],
            dropped=together[1],
            stopped=_stopped(trials, asked_for.time_s),
            exit_code=0 if trials.interrupt is None else exit_code_of(trials.interrupt),
        )
    return replace(made, diff="" if made.best is None else diff(asked_for.source.path, made.best.applied))


def _stopped(trials: Trials, time_s: float | None) -> str:
    if trials.interrupt is not None:
        return INTERRUPTED
    if not trials.is_late or time_s is None:
        return ""
    return f"{TIME_IS_UP}; give it more: --time {max(round(2 * time_s / 60), 1)}m"


def gate(limit: str | None) -> float | None:
    """The gain that `gain>10%` names, as a fraction. Raises UsageError if it is none."""
    if limit is None:
        return None
    name, _, number = limit.partition(">")
    digits = number.strip().removesuffix("%")
    try:
        found = float(digits) / 100
    except ValueError:
        found = -1.0
    if name.strip() != "gain" or not number.strip().endswith("%") or not 0 <= found < 100:
        raise UsageError("not a limit of a gain", limit, "write it as gain>10%")
    return found


def exit_code(trial: Trial, limit: float | None) -> int:
    """5 if a change certainly gains more than the limit and the program computes the same."""
    helping = [each for each in (*trial.tried, trial.stack) if each is not None and each.is_checked]
    certain = [each.low for each in helping if each.outcome is Outcome.HELPS and each.low is not None]
    return _GATE_EXIT if limit is not None and any(low > 1 + limit for low in certain) else 0


def text(trial: Trial, *, width: int = 200, color: bool = False) -> str:
    """The screen; where all that helped was put together also the diff."""
    from perfprobe.report.render.text import page
    from perfprobe.report.section.tried import tried_blocks

    screen = page(tried_blocks(trial), width=width, color=color)
    return f"{screen}\n{harmless(trial.diff)}" if trial.stack is not None and trial.diff else screen


def document(trial: Trial) -> dict[str, Any]:
    """Everything, ready for json.dumps."""
    from perfprobe.report.section.tried import command

    best = trial.best
    return {
        "schema": 1,
        "meta": {
            "program": trial.program,
            "step_ns": trial.step_ns,
            "by_steps": trial.by_steps,
            "steps": trial.steps,
            "runs": trial.runs,
            "time_s": trial.time_s,
            "itself": trial.itself,
            "stopped": trial.stopped or None,
        },
        "tables": {
            "tries": [_row(each) for each in trial.tried],
            "proposed": [asdict(each) for each in trial.proposed],
        },
        "stack": None if trial.stack is None else _row(trial.stack),
        "dropped": list(trial.dropped),
        "diff": trial.diff or None,
        "recommended": None if best is None else command(trial, best),
    }


def _row(one: Tried) -> dict[str, Any]:
    return {**asdict(one), "outcome": one.outcome.value}
