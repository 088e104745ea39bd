"""Hot operators of the leading loop's steps, for shares of the step."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.hot_modules import module_times
from perfprobe.analyse.hotspots import OperatorRows, RowsOfOperators, hotspots
from perfprobe.models.waiting import is_busy, waited_within_ns
from perfprobe.tables.columns import Mask, among
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Hotspots, Sums, Totals
from perfprobe.tables.intervals import around
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepMark, StepTimes
from perfprobe.tables.trace import Trace


class RowsInSteps:
    """Takes the operators of a trace batch by batch, and keeps those within the leading loop's steps.

    Steps that averages leave out do not count. Neither do threads that run other loops.
    """

    def __init__(self, trace: Trace, times: StepTimes, totals: Totals) -> None:
        self._trace, self._totals = trace, totals
        self._rows = RowsOfOperators(trace, "row", None)
        steps = times.steps.take(times.steps.loop == 0)
        is_steady = steps.mark == StepMark.STEADY
        steps = steps.take(is_steady) if bool(is_steady.any()) else steps
        steps = steps.take(np.argsort(steps.start_ns, kind="stable"))
        self._start_ns, self._end_ns = steps.start_ns, steps.end_ns
        self._time_ns = int((steps.end_ns - steps.start_ns).sum())
        own = times.loops.thread[:1]
        self._thread = int(own[0]) if len(own) else -1
        self._others = times.loops.thread[~among(times.loops.thread, own)]
        self._any = False

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        chosen = self._within(batch)
        if bool(chosen.any()):
            self._any = True
            self._rows.add(batch.take(chosen))

    def _within(self, batch: LinkedOperators) -> Mask:
        inside = around(self._start_ns, self._end_ns, batch.start_ns) >= 0
        return np.asarray(inside & ~among(batch.thread, self._others))

    def result(self) -> StepHotspots | None:
        """The rows, in ns; None if no operator ran in a step."""
        if not self._any or self._time_ns <= 0:
            return None
        rows = self._rows.result()
        found: Hotspots = hotspots(self._trace, rows, self._totals, work=False)
        typical = Sums(**rows.operators.columns() | {"self_ns": rows.typical_operators_ns})
        modules = module_times(self._trace, typical)
        time_ns = self._typical_ns(rows) if is_busy(self._trace) else self._time_ns
        return StepHotspots(found, modules, time_ns, len(self._start_ns))

    def _typical_ns(self, rows: OperatorRows) -> int:
        """The time of the steps if all calls had taken their typical time, as in the rows.

        What calls took beyond that counts as waiting for a processor. Waiting beyond it was between operators
        and is subtracted too. If several threads ran operators at once, too much might be subtracted, so the
        result is at least the typical time of the operators.
        """
        typical_ns, operators_ns = int(rows.typical_operators_ns.sum()), int(rows.operators.self_ns.sum())
        waited_ns = waited_within_ns(self._trace.recording, self._thread, self._start_ns, self._end_ns)
        return max(self._time_ns - max(operators_ns - typical_ns, waited_ns), typical_ns)
