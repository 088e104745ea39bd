"""Compares two versions of a program."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import stdev

from perfprobe.analyse.comparing.attribution import (
    change,
    part_changes,
    phase_changes,
    shared,
    waiting,
    with_rows,
)
from perfprobe.analyse.comparing.comparable import mismatches
from perfprobe.analyse.comparing.counts import counts
from perfprobe.analyse.comparing.figures import figures
from perfprobe.analyse.comparing.sides import Side
from perfprobe.models import paired as pairs
from perfprobe.models.compared import Change, Comparison, PartChange
from perfprobe.models.paired import Difference
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.run_parts import RunParts
from perfprobe.tables.run_value import Measure, RunValue
from perfprobe.tables.steps import StepTimes

KINDS = (RunValue, RunParts, StepTimes, Compilations, GpuFindings, DeviceAccount)


def compared(
    before: Side,
    after: Side,
    *,
    unpaired: str,
    measure: Measure,
    difference: Difference | None = None,
) -> Comparison:
    """The comparison.

    Args:
        unpaired: why runs with the same number are not pairs; "" if they are.
        difference: of the step, if it is known already.
    """
    is_paired = not unpaired and len(before.runs) == len(after.runs)
    first, second = (_steps_ns(side, measure) for side in (before, after))
    has_steps = bool(before.runs and after.runs) and [len(first), len(second)] == [
        len(before.runs),
        len(after.runs),
    ]
    if difference is None and has_steps:
        difference = _difference(first, second, is_paired)
    error = pairs.ERROR if difference is None else difference.error
    step_ns = change(first, second, is_paired, error) if has_steps else None
    runs = with_rows(before, after, is_paired and len(before.recorded) == len(after.recorded), error)
    rows = part_changes(runs, 0 if step_ns is None else step_ns.before)
    waited_ns = waiting(runs) if measure is Measure.WALL else None
    return Comparison(
        names=(before.name, after.name),
        runs=(len(before.runs), len(after.runs)),
        steps=(_steps(before), _steps(after)),
        measure=measure,
        paired=is_paired,
        unpaired=unpaired,
        step=difference,
        step_ns=step_ns,
        median_ns=_medians(before, after, measure) if has_steps else None,
        rows=rows,
        phases=phase_changes(runs),
        waited_ns=waited_ns,
        unattributed_ns=_unattributed(step_ns, rows, waited_ns) if runs.any else None,
        with_rows=(len(runs.before), len(runs.after)),
        shared=shared(rows) if runs.any else None,
        figures=figures(before, after, is_paired, error),
        counts=counts(before, after, rows),
        mismatches=mismatches(before, after),
    )


def _steps_ns(side: Side, measure: Measure) -> list[float]:
    """The step of each run that has one."""
    values = [run.value.step_ns(measure) for run in side.runs if run.value is not None]
    return [each for each in values if each is not None]


def _medians(before: Side, after: Side, measure: Measure) -> Change:
    name = f"{measure.value}_median_ns"
    first, second = ([getattr(run.value, name) for run in side.runs] for side in (before, after))
    return change(first, second, False)


def _difference(before: list[float], after: list[float], is_paired: bool) -> Difference:
    """What the runs say: pair by pair, else by the means, which have no interval."""
    if is_paired:
        return pairs.difference(before, after, looked=False)
    means = [sum(side) / len(side) for side in (before, after)]
    spreads = [stdev(map(log, side)) for side in (before, after) if len(side) > 1]
    return pairs.difference(means[:1], means[1:], looked=False, spread=max(spreads, default=None))


def _steps(side: Side) -> int:
    return sum(max(run.value.steps, 0) for run in side.runs if run.value is not None)


def _unattributed(
    step_ns: Change | None, rows: Sequence[PartChange], waited_ns: Change | None
) -> float | None:
    if step_ns is None:
        return None
    known_ns = sum(row.time_ns.by for row in rows)
    return step_ns.by - known_ns - (0 if waited_ns is None else waited_ns.by)
