"""Watches the operators of the leading loop's thread in the steps that count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.blocked import Collectives, gpu_waits, is_apart
from perfprobe.analyse.account.cells import Cells, GatheredCells
from perfprobe.analyse.account.stood import Stood, StoodStill
from perfprobe.analyse.at_moments import AtMoments, Moments
from perfprobe.analyse.between import outermost
from perfprobe.analyse.grouping import group_of, sort_by_keys
from perfprobe.analyse.idle.layers import HostSpans
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.labels import Labels
from perfprobe.analyse.loop.next_item import at_next
from perfprobe.analyse.loop.regions import regions
from perfprobe.analyse.loop.summed import reported
from perfprobe.analyse.sampled import PythonOfAutograd, in_program
from perfprobe.tables.columns import Int8, Int32, Int64, Rows, Table, column
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.intervals import around
from perfprobe.tables.python import Samples
from perfprobe.tables.ranges import Ranges, RangeSource
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.steps import EventKind, StepKind, StepPhase, Steps, StepTimes
from perfprobe.tables.trace import Phase, Trace

_INSIDE = (StepPhase.RECOMPUTE, StepPhase.COMPILE)  # may be inside an operator of another phase


class OfLooks(Table):
    """The operator that ran when each sample was taken. -1 without one."""

    phase: Int8 = column("its `StepPhase`")
    frame: Int32 = column("its line", Frames)
    module: Int32 = column("its nn.Module", Modules)


class Watched(NamedTuple):
    """What ran in the steps that count.

    steps: their rows in `Steps`. ranges: torch's own ranges, such as that of an optimizer's step. engine:
    backward on autograd's threads, for which the loop's thread waits. of_looks: rows belong to the rows of
    `StepTimes.looks`. stood: waiting for a processor. gpu, ranks: waiting for these in operators, which
    `cells` leave out. waits: for a GPU between operators. collectives: when any ran.
    """

    steps: Rows
    cells: Cells
    ranges: Cells
    engine: Cells
    of_looks: OfLooks
    stood: Stood
    gpu: Cells
    ranks: Cells
    waits: HostSpans
    collectives: Covered


class AccountWatch(AtMoments):
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._trace, self._times = trace, times
        self._rows = times.leading()
        self._steps: Steps = times.steps.take(self._rows)
        self._os_threads = trace.recording.os_threads()
        self._thread = int(self._os_threads[times.loops.thread[0]]) if len(times.loops) else -1
        self._kind = StepKind(int(times.loops.kind[0])) if len(times.loops) else StepKind.TRAINING
        self._labels = Labels(trace, regions(trace))
        self._line = same_line(trace.recording[Frames])
        self._python = PythonOfAutograd(trace.recording)
        self._is_next = np.append(times.is_next, False)
        self._next_ns = events(times, EventKind.NEXT)
        self._optimizer_ns = events(times, EventKind.OPTIMIZER)
        self._cells, self._ranges, self._engine = GatheredCells(), GatheredCells(), GatheredCells()
        self._gpu, self._ranks, self._collectives = GatheredCells(), GatheredCells(), Collectives(trace)
        self._stood = StoodStill(trace.recording, self._thread)
        self._phase, self._frame = np.empty(0, np.int8), np.empty(0, np.int32)
        self._set_moments()

    def _set_moments(self) -> None:
        """Samples of the thread, and the starts of garbage collections, whose time operators do not have."""
        looks, samples = self._times.looks, in_program(self._trace.recording)
        sample = looks.sample
        time_ns = np.where(samples.looks > 0, samples.end_ns, samples.start_ns)[sample]
        self._stack = self._trace.recording[Samples].stack[sample]
        collections = self._trace.recording[Ranges]
        is_own = self._os_threads[collections.thread] == self._thread
        is_own &= (collections.source == RangeSource.PYTHON) & (collections.end_ns >= collections.start_ns)
        self._collected = collections.take(is_own)
        spans = self._collected.start_ns, self._collected.end_ns
        self._waits = gpu_waits(self._trace, self._thread, *spans)
        self._is_between = np.ones(len(self._waits), np.bool_)
        middle_ns = (self._waits.start_ns + self._waits.end_ns) // 2
        moments_ns = np.concatenate([time_ns, self._collected.start_ns, middle_ns])
        order = np.argsort(moments_ns, kind="stable")
        self._moments = Moments(order, moments_ns[order])
        self._found = [np.full(len(looks), -1, OfLooks.dtypes[name]) for name in OfLooks.dtypes]

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self._collectives.add(batch)
        is_own = self._os_threads[batch.thread] == self._thread
        if not bool(is_own.all()):
            self._add_engine(batch.take(~is_own & (batch.phase == Phase.BACKWARD)))
        own = np.flatnonzero(is_own)
        if len(own) == 0:
            return
        rows = batch if len(own) == len(batch) else batch.take(own)
        self._phase, self._frame = self._phases(rows), self._line[rows.frame]
        self.find(self._moments, rows)
        step = around(self._steps.start_ns, self._steps.end_ns, rows.start_ns)
        self._stood.add(rows, self._phase, self._frame, step >= 0)
        counts = (step >= 0) & (rows.self_ns > 0)
        is_range, calls = rows.scope == USER_SCOPE, self._collectives.called(rows.name)
        is_operator = counts & ~is_range
        for cells, chosen in (
            (self._cells, is_operator & ~calls),
            (self._ranks, is_operator & calls),
            (self._ranges, counts & is_range),
        ):
            own_ns, number = rows.self_ns[chosen], step[chosen].astype(np.int64)
            cells.add(self._phase[chosen], self._frame[chosen], rows.module[chosen], own_ns, number)

    def _add_engine(self, rows: LinkedOperators) -> None:
        step = around(self._steps.start_ns, self._steps.end_ns, rows.start_ns)
        chosen = (step >= 0) & (rows.scope != USER_SCOPE) & (rows.self_ns > 0)
        rows, step = rows.take(chosen), step[chosen].astype(np.int64)
        phase, frame = np.full(len(rows), StepPhase.BACKWARD, np.int8), self._line[rows.frame]
        self._engine.add(phase, frame, rows.module, rows.self_ns, step)

    def _phases(self, rows: LinkedOperators) -> Int8:
        """The phase of each operator, as reported: that of the outermost one around it."""
        phase, _ = self._labels.of(rows)
        outer = outermost(rows.start_ns, rows.scope)
        if len(outer):
            end_ns = np.maximum.accumulate(rows.end_ns[outer])
            at = outer[np.minimum(np.searchsorted(end_ns, rows.end_ns), len(outer) - 1)]
            inside = (rows.start_ns[at] <= rows.start_ns) & (rows.end_ns <= rows.end_ns[at])
            phase = np.where(inside & ~np.isin(phase, _INSIDE), phase[at], phase)
        updates = (around(*self._optimizer_ns, rows.start_ns) >= 0) & (phase == StepPhase.OTHER)
        phase = np.where(updates, np.int8(StepPhase.OPTIMIZER), phase)
        phase = at_next(phase, self._is_next[rows.stack])
        is_data = around(*self._next_ns, rows.start_ns) >= 0
        return reported(self._kind, np.where(is_data, np.int8(StepPhase.DATA), phase).astype(np.int8))

    def take(self, batch: LinkedOperators, place: Rows, rows: Rows) -> None:
        """Notes the operators at these places for the samples, or takes collections out of their time."""
        of_looks = rows < len(self._stack)
        look, at = rows[of_looks], place[of_looks]
        runs = ~self._python.at(batch, at, self._stack[look])
        columns: tuple[npt.NDArray[Any], ...] = (self._phase, self._frame, batch.module)
        for found, values in zip(self._found, columns, strict=True):
            found[look[runs]] = values[at[runs]]
        other, at = rows[~of_looks] - len(self._stack), place[~of_looks]
        is_wait = other >= len(self._collected)
        if not bool(is_wait.all()):
            self._take_out(batch, at[~is_wait], self._collected.take(other[~is_wait]))
        if bool(is_wait.any()):
            self._take_waits(batch, at[is_wait], other[is_wait] - len(self._collected))

    def _take_out(self, batch: LinkedOperators, at: Rows, collected: Ranges) -> None:
        step = around(self._steps.start_ns, self._steps.end_ns, collected.start_ns)
        inside = step >= 0
        at, step = at[inside], step[inside].astype(np.int64)
        time_ns = (collected.start_ns - collected.end_ns)[inside]
        called = self._collectives.called(batch.name[at])
        for cells, own in ((self._cells, ~called), (self._ranks, called)):
            self._add_at(cells, batch, at[own], time_ns[own], step[own])

    def _take_waits(self, batch: LinkedOperators, at: Rows, waits: Rows) -> None:
        """Takes waits for a GPU out of the operators that contain them; not out of waits for ranks."""
        self._is_between[waits] = False
        chosen = ~is_apart(self._phase[at]) & ~self._collectives.called(batch.name[at])
        at, own = at[chosen], self._waits.take(waits[chosen])
        step = around(self._steps.start_ns, self._steps.end_ns, own.start_ns)
        at, own, step = at[step >= 0], own.take(step >= 0), step[step >= 0].astype(np.int64)
        until_ns = np.minimum(np.minimum(own.end_ns, batch.end_ns[at]), self._steps.end_ns[step])
        time_ns = np.maximum(until_ns - np.maximum(own.start_ns, batch.start_ns[at]), 0)
        self._add_at(self._cells, batch, at, -time_ns, step)
        self._add_at(self._gpu, batch, at, time_ns, step)

    def _add_at(
        self, cells: GatheredCells, batch: LinkedOperators, at: Rows, time_ns: Int64, step: Int64
    ) -> None:
        """Adds time of the operators at these places of the batch."""
        if len(at):
            cells.add(self._phase[at], self._frame[at], batch.module[at], time_ns, step)

    def result(self) -> Watched:
        """What was seen."""
        gathered = (self._cells, self._ranges, self._engine, self._gpu, self._ranks)
        cells, ranges, engine, gpu, ranks = (each.result() for each in gathered)
        waits = self._waits.take(self._is_between)
        found = OfLooks(*self._found), self._stood.result(), gpu, ranks, waits, self._collectives.result()
        return Watched(self._rows, cells, ranges, engine, *found)


def same_line(frames: Frames) -> Int32:
    """For every frame the first one on the same line; one more entry, -1, for none."""
    found = np.full(len(frames) + 1, -1, np.int32)
    if len(frames):
        order, first = sort_by_keys([frames.file, frames.line])
        found[:-1] = order[first][group_of(order, first)]
    return found


def events(times: StepTimes, kind: EventKind) -> tuple[Int64, Int64]:
    """When events of this kind began and ended in steps of the leading loop, ordered."""
    events = times.events
    rows = events.take((events.kind == kind) & (times.steps.loop[events.step] == 0))
    rows = rows.take(np.argsort(rows.start_ns, kind="stable"))
    return rows.start_ns, rows.end_ns
