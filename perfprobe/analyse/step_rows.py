"""Hot operators of the leading loop's steps, for shares of the step."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.account.watch import AccountWatch, Watched, same_line
from perfprobe.analyse.hot_modules import module_times
from perfprobe.analyse.hotspots import OperatorRows, RowsOfOperators, hotspots
from perfprobe.tables.account import Account
from perfprobe.tables.columns import Int64, Mask, among
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Hotspots, Sums, Totals
from perfprobe.tables.intervals import around
from perfprobe.tables.stacks import Frames
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace


class OfSteps(NamedTuple):
    """What ran in the steps that count. rows: None if no operator did. watched: on the loop's own thread."""

    rows: OperatorRows | None
    watched: Watched


class InSteps:
    """Takes the operators of a trace batch by batch, and keeps those within the leading loop's steps.

    Steps that averages leave out do not count. Neither do threads that run other loops.
    """

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._rows, self._account = RowsOfOperators(trace, "row", None), AccountWatch(trace, times)
        steps = times.steps.take(times.leading())
        self._start_ns, self._end_ns = steps.start_ns, steps.end_ns
        own = times.loops.thread[:1]
        self._others = times.loops.thread[~among(times.loops.thread, own)]
        self._any = False

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self._account.add(batch)
        chosen = self._within(batch)
        if bool(chosen.any()):
            self._any = True
            self._rows.add(batch.take(chosen))

    def _within(self, batch: LinkedOperators) -> Mask:
        inside = around(self._start_ns, self._end_ns, batch.start_ns) >= 0
        return np.asarray(inside & ~among(batch.thread, self._others))

    def result(self) -> OfSteps:
        """The rows and the account's parts, in ns."""
        return OfSteps(self._rows.result() if self._any else None, self._account.result())


def step_hotspots(
    trace: Trace, found: OfSteps, account: Account | None, totals: Totals
) -> StepHotspots | None:
    """The operators without the waiting that the account took out of their lines; None without any."""
    if found.rows is None or account is None or account.own_ns <= 0:
        return None
    kept = _kept(trace, account)[found.rows.rows.frame]
    own_ns = np.rint(found.rows.rows.self_ns * kept).astype(np.int64)
    rows = replace(found.rows, typical_ns=own_ns)
    made: Hotspots = hotspots(trace, rows, totals, work=False)
    own = Sums(**rows.operators.columns() | {"self_ns": rows.typical_operators_ns})
    return StepHotspots(made, module_times(trace, own), account)


def _kept(trace: Trace, account: Account) -> np.typing.NDArray[np.float64]:
    """For each frame the part of its line's time that is left without waiting; one more, for no line."""
    line = same_line(trace.recording[Frames])
    own_ns, waited_ns = (
        _by_line(account, getattr(account.leaves, name), len(line)) for name in ("time_ns", "waited_ns")
    )
    whole_ns = own_ns + waited_ns
    mean = account.own_ns / max(account.time_ns, 1)
    return np.asarray(np.where(whole_ns > 0, own_ns / np.maximum(whole_ns, 1), mean)[line])


def _by_line(account: Account, values: Int64, lines: int) -> Int64:
    """Sums by line; the last one is of what has no line."""
    found = np.zeros(lines, np.int64)
    known = account.leaves.operators_ns > 0
    np.add.at(found, account.leaves.frame[known], values[known])
    return found
