"""Divides the difference of two versions' steps by their parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import fsum
from statistics import fmean
from typing import NamedTuple

from perfprobe.analyse.comparing.identity import Pairing, paired_parts
from perfprobe.analyse.comparing.sides import Amount, RunSide, Side
from perfprobe.models.compared import Change, Match, Part, PartChange
from perfprobe.models.paired import ERROR, FEWEST, chance, holm, interval
from perfprobe.tables.steps import StepPhase

_TESTED = 0.01  # of the step; intervals of smaller parts are not counted among the looks
_NOTHING = Amount(0.0, 0.0)


class Runs(NamedTuple):
    """The runs of both versions that have rows.

    paired: whether those with the same number are pairs. error: how often an interval may miss.
    """

    before: Sequence[RunSide]
    after: Sequence[RunSide]
    paired: bool
    error: float = ERROR

    @property
    def any(self) -> bool:
        """Whether both have any."""
        return bool(self.before) and bool(self.after)


def with_rows(before: Side, after: Side, paired: bool, error: float) -> Runs:
    """The runs that have rows; of pairs those in which both have them."""
    if not paired:
        first, second = ([run for run in side.recorded if run.parts] for side in (before, after))
        return Runs(first, second, False)
    whole = zip(before.recorded, after.recorded, strict=True)
    pairs = [pair for pair in whole if all(run.parts for run in pair)]
    return Runs([pair[0] for pair in pairs], [pair[1] for pair in pairs], True, error)


def change(before: Sequence[float], after: Sequence[float], paired: bool, error: float = ERROR) -> Change:
    """The means, and the interval of their difference over the pairs."""
    if not paired or len(before) != len(after):
        return Change(fmean(before), fmean(after))
    _, low, high = interval([b - a for a, b in zip(before, after, strict=True)], error)
    return Change(fmean(before), fmean(after), low, high)


def part_changes(runs: Runs, step_ns: float) -> list[PartChange]:
    """All parts of both versions, the largest difference first. step_ns: of the earlier version."""
    if not runs.any:
        return []
    sides = [{part for run in side for part in run.parts or ()} for side in (runs.before, runs.after)]
    rows = [_row(pairing, runs) for pairing in paired_parts(*sides)]
    rows.sort(key=lambda row: -abs(row.change.time_ns.by))
    return _with_chances(rows, runs, step_ns)


def shared(rows: Iterable[PartChange]) -> float:
    """The part of the time in parts that both versions have."""
    whole, common = 0.0, 0.0
    for row in rows:
        time_ns = row.time_ns.before + row.time_ns.after
        whole += time_ns
        common += time_ns if row.match not in (Match.NEW, Match.GONE) else 0
    return common / whole if whole > 0 else 0.0


def phase_changes(runs: Runs) -> dict[StepPhase, Change]:
    """The time of each phase, the largest difference first."""
    known = {phase for run in (*runs.before, *runs.after) for phase in _phases(run)} if runs.any else set()
    found = {}
    for phase in known:
        earlier, later = ([_phases(run).get(phase, 0.0) for run in side] for side in runs[:2])
        found[phase] = change(earlier, later, runs.paired, runs.error)
    return dict(sorted(found.items(), key=lambda each: (-abs(each[1].by), each[0])))


def waiting(runs: Runs) -> Change | None:
    """Waiting for a processor in a step; None if it was not measured in all runs."""
    sides = [[_waited(run) for run in side] for side in (runs.before, runs.after)]
    known = [[each for each in side if each is not None] for side in sides]
    if not runs.any or [len(side) for side in known] != [len(side) for side in sides]:
        return None
    return change(known[0], known[1], runs.paired, runs.error)


def _phases(run: RunSide) -> dict[StepPhase, float]:
    assert run.of_steps is not None
    return {phase: time_ns / max(run.of_steps.steps, 1) for phase, time_ns in run.of_steps.phases.items()}


def _waited(run: RunSide) -> float | None:
    assert run.of_steps is not None
    waited_ns = run.of_steps.waited_ns
    return None if waited_ns is None else waited_ns / max(run.of_steps.steps, 1)


class _Row(NamedTuple):
    """A row, and the difference of its time in each pair; none if there are no pairs."""

    change: PartChange
    differences: Sequence[float]


def _row(pairing: Pairing, runs: Runs) -> _Row:
    before, after = _amounts(pairing.before, runs.before), _amounts(pairing.after, runs.after)
    time_ns = change([each.time_ns for each in before], [each.time_ns for each in after], *runs[2:])
    calls = change([each.calls for each in before], [each.calls for each in after], *runs[2:])
    calls_ns = each_ns = None
    if calls.before > 0 and calls.after > 0:
        calls_ns = calls.by * time_ns.before / calls.before
        each_ns = time_ns.by - calls_ns
    earlier, later = _by_time(pairing.before, runs.before), _by_time(pairing.after, runs.after)
    differences = [b.time_ns - a.time_ns for a, b in zip(before, after, strict=False)] if runs.paired else []
    found = PartChange(
        match=pairing.match,
        before=next(iter(earlier), None),
        after=next(iter(later), None),
        time_ns=time_ns,
        calls=calls,
        calls_ns=calls_ns,
        each_ns=each_ns,
        signatures=(_signatures(earlier), _signatures(later)),
    )
    return _Row(found, differences)


def _amounts(parts: Sequence[Part], runs: Sequence[RunSide]) -> list[Amount]:
    found = []
    for run in runs:
        own = [(run.parts or {}).get(part, _NOTHING) for part in parts]
        found.append(Amount(fsum(each.time_ns for each in own), fsum(each.calls for each in own)))
    return found


def _by_time(parts: Sequence[Part], runs: Sequence[RunSide]) -> list[Part]:
    """The parts, most time in all runs first."""
    if len(parts) < 2:
        return list(parts)
    times_ns: dict[Part, float] = dict.fromkeys(parts, 0.0)
    for run in runs:
        for part in parts:
            times_ns[part] += (run.parts or {}).get(part, _NOTHING).time_ns
    return sorted(parts, key=lambda part: (-times_ns[part], part))


def _signatures(parts: Sequence[Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.signature for part in parts if part.signature))


def _with_chances(rows: list[_Row], runs: Runs, step_ns: float) -> list[PartChange]:
    """The rows; those above 1 % of the step with their chance, all of them counted."""
    found = [row.change for row in rows]
    if not runs.paired or len(runs.before) < FEWEST:
        return found
    tested = [at for at, each in enumerate(found) if max(each.time_ns[:2]) > _TESTED * step_ns]
    chances = holm([chance(rows[at].differences) for at in tested])
    for at, each in zip(tested, chances, strict=True):
        found[at] = replace(found[at], time_ns=found[at].time_ns._replace(chance=each))
    return found
