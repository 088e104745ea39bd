"""Rule: steps of many short operators. The fixed cost of each, not what it computes, takes the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfprobe.diagnose.waits import of_group
from perfprobe.models.nodes import ENGINE
from perfprobe.models.work.slow_core import longest_ns
from perfprobe.tables.account import Account, LeafKind, group
from perfprobe.tables.columns import Int64, among
from perfprobe.tables.diagnoses import Cause, Diagnosis, Short
from perfprobe.tables.findings import Findings, HotspotRows
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepPhase, StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

_SHORT_NS = 20_000  # between two operators. If they begin more seldom, something else takes the time.
# Of the step. At a quarter, a step with four times the data takes about as long, at 0.4 1.4 times as long, so
# most of it is still the number of operators: python -m benchmarks.short_operators.
OF_DATA = 0.35
OF_UNKNOWN = 0.25  # of the step: operators of which it is not known how much data they work on
SLOW_CORE_NS = 2_000  # between two operators on a core as slow as the rates of `longest_ns`, at least
_READ = "aten::_local_scalar_dense"
_USUAL = 0.75  # of the steps
_EACH_STEP = 50  # fewer are those of losses and metrics
_MANY = 0.1  # of all calls: with the two operators that `.item()` calls around each, a third of them
_OF_UPDATES = 0.25  # of the step


def short_operators(findings: Findings, account: Account) -> Iterator[Diagnosis]:
    """Many short operators, unless their work on data may be a large part of the time."""
    found = findings.get(StepHotspots)
    if found is None:
        return
    rows = real_operators(findings.trace, found.hotspots.rows)
    calls = round(int(rows.calls.sum()) * _usual_part(found.calls))
    if not calls:
        return
    usual_ns = _usual(_durations_ns(findings[StepTimes])) * account.steps
    every_ns = min(account.own_ns, usual_ns) / calls
    is_line = account.leaves.kind == LeafKind.LINE
    if every_ns >= _SHORT_NS or not (account.leaves.operators_ns[is_line] > 0).any():
        return
    speed = max(SLOW_CORE_NS / max(every_ns, 1), 1)
    work_ns, unknown_ns = data_ns(findings.trace, rows, speed)
    of_data = account.share(round(work_ns))
    if of_data < OF_DATA and account.share(unknown_ns) < OF_UNKNOWN:
        short = Short(calls, of_data, _reads(findings.trace, rows, account.steps), _of_updates(account, rows))
        yield _diagnosis(account, short, usual_ns)


def _diagnosis(account: Account, short: Short, most_ns: int) -> Diagnosis:
    """It is about all lines of the program that have operators; its place is the one with most time.

    most_ns: the time if no step took longer than usual. What few steps do beyond it is something else.
    """
    leaves = account.leaves.take(account.leaves.kind == LeafKind.LINE)
    lines = group(leaves.take(among(leaves.frame, leaves.frame[leaves.operators_ns > 0])))
    found = of_group(account, lines._replace(time_ns=min(lines.time_ns, most_ns)), Cause.SHORT_OPERATORS)
    return replace(found, gain=None, short=short)


def _durations_ns(times: StepTimes) -> Int64:
    steps = times.steps.take(times.leading())
    return steps.end_ns - steps.start_ns


def _usual(of_steps: Int64) -> int:
    """The most that any step has, but a quarter of them: those may do something else too."""
    return int(np.sort(of_steps)[int(_USUAL * (len(of_steps) - 1))])


def _usual_part(calls: Int64) -> float:
    """The part of these calls that is left if no step had more than usual."""
    return float(np.minimum(calls, _usual(calls)).sum() / max(int(calls.sum()), 1))


def _reads(trace: Trace, rows: HotspotRows, steps: int) -> int | None:
    """How many calls read one value, as `.item()` does; None where they are few."""
    is_read = trace.recording[Strings].marks(lambda name: name == _READ)[rows.name]
    reads = int(rows.calls[is_read].sum())
    return reads if reads >= max(_MANY * int(rows.calls.sum()), _EACH_STEP * steps) else None


def _of_updates(account: Account, rows: HotspotRows) -> float | None:
    """The optimizer's share of the steps; None where it is small, or has few operators."""
    time_ns = int(account.leaves.time_ns[account.leaves.phase == StepPhase.OPTIMIZER].sum())
    calls = int(rows.calls[rows.phase == Phase.OPTIMIZER].sum())
    share = account.share(time_ns)
    return share if share >= _OF_UPDATES and time_ns < _SHORT_NS * calls else None


def real_operators(trace: Trace, rows: HotspotRows) -> HotspotRows:
    """The rows of operators, without ranges around them."""
    strings = trace.recording[Strings]
    chosen = strings.marks(lambda name: "::" in name and not name.startswith(ENGINE))
    return rows.take(chosen[rows.name])


def data_ns(trace: Trace, rows: HotspotRows, speed: float) -> tuple[float, int]:
    """How long the work of these calls takes at most, not longer than they took themselves.

    And the part of that of operators without a model of their work. speed: how much faster this core is at
    least than the slow one of `longest_ns`.
    """
    strings, sum_ns, unknown_ns = trace.recording[Strings], 0.0, 0
    columns = (rows.name, rows.signature, rows.calls, rows.typical_ns)
    for name, signature, calls, typical_ns in zip(*(each.tolist() for each in columns), strict=True):
        longest = longest_ns(strings[name], trace.signature(signature) or "")
        if longest is None:
            unknown_ns += typical_ns
        else:
            sum_ns += min(typical_ns, calls * longest / speed)
    return sum_ns + unknown_ns, unknown_ns
