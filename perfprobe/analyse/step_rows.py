"""Hot operators of the leading loop's steps, for shares of the step."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.account.kept import undisturbed
from perfprobe.analyse.hot_modules import module_times
from perfprobe.analyse.hotspots import hotspots
from perfprobe.analyse.operator_rows import OperatorRows, RowsOfOperators
from perfprobe.analyse.sites import SitesOfOperators
from perfprobe.tables.account import Account
from perfprobe.tables.columns import Int64, among
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Hotspots, Sums, Totals
from perfprobe.tables.intervals import around
from perfprobe.tables.python import OperatorSites
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Trace


class OfSteps(NamedTuple):
    """The operators of the steps that count; None if there are none. calls: how many in each step."""

    rows: OperatorRows | None
    calls: Int64


class StepSites(NamedTuple):
    """The operators of the steps that count, by stack."""

    sites: OperatorSites


class _InSteps:
    """Takes the operators of a trace batch by batch, and keeps those within the leading loop's steps.

    Steps that averages leave out do not count. Neither do threads that run other loops.
    """

    def __init__(self, times: StepTimes, watcher: RowsOfOperators | SitesOfOperators) -> None:
        self._watcher = watcher
        steps = times.steps.take(times.leading())
        self._start_ns, self._end_ns = steps.start_ns, steps.end_ns
        own = times.loops.thread[:1]
        self._others = times.loops.thread[~among(times.loops.thread, own)]
        self.calls = np.zeros(len(steps), np.int64)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        step = around(self._start_ns, self._end_ns, batch.start_ns)
        chosen = (step >= 0) & ~among(batch.thread, self._others)
        if bool(chosen.any()):
            self.calls += np.bincount(step[chosen], minlength=len(self.calls))
            self._watcher.add(batch if bool(chosen.all()) else batch.take(chosen))

    @property
    def any(self) -> bool:
        """Whether any operator is within the steps."""
        return bool(self.calls.any())


class RowsInSteps(_InSteps):
    """Makes their rows."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._rows = RowsOfOperators(trace, "row", None)
        super().__init__(times, self._rows)

    def result(self) -> OfSteps:
        """The rows, in ns."""
        return OfSteps(self._rows.result() if self.any else None, self.calls)


class SitesInSteps(_InSteps):
    """Sums them by stack."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._sites = SitesOfOperators(trace)
        super().__init__(times, self._sites)

    def result(self) -> StepSites:
        """The sites, in ns."""
        return StepSites(self._sites.result())


def step_hotspots(
    trace: Trace, found: OfSteps, account: Account | None, totals: Totals
) -> StepHotspots | None:
    """The operators without the waiting that the account took out of their lines; None without any."""
    if found.rows is None or account is None or account.own_ns <= 0:
        return None
    own_ns = undisturbed(trace, account, found.rows.rows.frame, found.rows.rows.self_ns)
    rows = replace(found.rows, typical_ns=own_ns)
    made: Hotspots = hotspots(trace, rows, totals, work=False)
    own = Sums(**rows.operators.columns() | {"self_ns": rows.typical_operators_ns})
    return StepHotspots(made, module_times(trace, own), account, found.calls)
