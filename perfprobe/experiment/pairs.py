"""Compares two variants in pairs of runs, until they are enough."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.experiment.private import exit_code_of
from perfprobe.experiment.rounds import INTERRUPTED, TIME_IS_UP, TIMED, WITH_ROWS, Progress, Ran, Rounds
from perfprobe.experiment.variant import Variant
from perfprobe.models.paired import LIMIT, MOST, Difference, difference
from perfprobe.support.errors import InputError
from perfprobe.support.frozen import frozen
from perfprobe.tables.live_steps import Added
from perfprobe.tables.run_value import Measure, RunValue

_FEWEST_STEPS = 3
_COSTS = 0.02  # what recording may add to a step
_WITH_ROWS_AT_LEAST = 3  # pairs
# The first run measures what recording adds: every second step after the first ten is left out, 20 in all.
_MEASURES_COST = (*WITH_ROWS, "--baseline", "20")


@frozen(kw_only=True)
class Asked:
    """What is compared, and when that is enough. seed: of the order of runs."""

    measure: Measure = Measure.OWN
    limit: float = LIMIT
    time_s: float | None = None
    most: int = MOST
    seed: int | None = None


@frozen(kw_only=True)
class Pairs:
    """Pairs of runs.

    Attributes:
        variants: A and B.
        measured: of each pair the runs of A and B, whose steps are compared.
        with_rows: pairs that have operators: all of them, or others if recording costs too much.
        difference: B beside A; None without a pair.
        added: what recording adds to a step; None if it was not measured.
        stopped: why it ended early, "" if it did not.
        exit_code: 0, or that of an interrupt.
    """

    variants: tuple[Variant, Variant]
    asked: Asked
    measured: tuple[tuple[Ran, Ran], ...]
    with_rows: tuple[tuple[Ran, Ran], ...]
    difference: Difference | None
    added: Added | None
    stopped: str = ""
    exit_code: int = 0

    def step_ns(self, at: int) -> float:
        """The mean over the pairs of a variant's step."""
        values = [pair[at].value.step_ns(self.asked.measure) or 0.0 for pair in self.measured]
        return sum(values) / max(len(values), 1)


class _Found:
    """What is known so far."""

    def __init__(self) -> None:
        self.measured: list[tuple[Ran, Ran]] = []
        self.with_rows: list[tuple[Ran, Ran]] = []
        self.difference: Difference | None = None
        self.added: Added | None = None


def paired(variants: tuple[Variant, Variant], asked: Asked, folder: str, progress: Progress) -> Pairs:
    """Runs both in turns, and stops when the difference is known well enough.

    Args:
        folder: for recordings; the caller removes it.
        progress: see `Rounds`.

    Raises:
        InputError: a variant fails, has no steps, or its steps were not measured.
    """
    found, stopped, exit_code = _Found(), "", 0
    rounds = Rounds(
        variants,
        folder,
        progress=progress,
        time_s=asked.time_s,
        whole=2 * asked.most + 2,
        seed=asked.seed,
    )
    try:
        _run(rounds, variants, asked, found)
        stopped = TIME_IS_UP if rounds.is_late else ""
    except KeyboardInterrupt as error:
        stopped, exit_code = INTERRUPTED, exit_code_of(error)
    return Pairs(
        variants=variants,
        asked=asked,
        measured=tuple(found.measured),
        with_rows=tuple(found.with_rows),
        difference=found.difference,
        added=found.added,
        stopped=stopped,
        exit_code=exit_code,
    )


def _run(rounds: Rounds, variants: Sequence[Variant], asked: Asked, found: _Found) -> None:
    """A first run of each fills caches and is checked; then pairs, and pairs with rows if those had none."""
    first = rounds.one(0, _MEASURES_COST)
    for ran in (first, rounds.one(1, WITH_ROWS)):
        _check(variants[ran.variant], ran.value, asked.measure)
    found.added = first.added
    is_timed = _is_costly(found.added) and _has_live_steps(rounds)
    for a, b in rounds.rounds(asked.most, TIMED if is_timed else WITH_ROWS):
        found.measured.append((a, b))
        if not is_timed:
            found.with_rows.append((a, b))
        found.difference = _difference(found.measured, asked.measure, variants)
        if found.difference.is_enough(asked.limit):
            break
    if is_timed:
        for a, b in rounds.rounds(_WITH_ROWS_AT_LEAST, WITH_ROWS):
            found.with_rows.append((a, b))


def _is_costly(added: Added | None) -> bool:
    """Whether recording certainly costs too much. Both versions pay for it, so a little more is no harm."""
    return added is not None and added.low is not None and added.low > _COSTS


def _has_live_steps(rounds: Rounds) -> bool:
    """Whether steps are found without recording operators, in both."""
    return all(rounds.one(at, TIMED).value.steps >= _FEWEST_STEPS for at in (0, 1))


def _difference(
    pairs: Sequence[tuple[Ran, Ran]], measure: Measure, variants: Sequence[Variant]
) -> Difference:
    return difference(*([_step_ns(variants[at], pair[at].value, measure) for pair in pairs] for at in (0, 1)))


def _check(variant: Variant, value: RunValue, measure: Measure) -> None:
    if value.steps < _FEWEST_STEPS:
        what = f"{variant.name} has {value.steps or 'no'} steps to compare"
        remedy = "mark its steps with perfprobe.step(), or give it more batches"
        raise InputError(what, variant.shown, remedy)
    _step_ns(variant, value, measure)


def _step_ns(variant: Variant, value: RunValue, measure: Measure) -> float:
    found = value.step_ns(measure)
    if found is None:
        what = f"{variant.name}: the {measure.value} time of its steps was not measured"
        raise InputError(what, variant.shown, "compare by --measure wall")
    return found
