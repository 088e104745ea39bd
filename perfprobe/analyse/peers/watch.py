"""The pass that watches the operators for other profilers' tables."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.between import outermost
from perfprobe.analyse.grouping import first_of_each
from perfprobe.analyse.loop.ranges import PREFIXES, PROFILER
from perfprobe.analyse.loop.timeline import is_possible
from perfprobe.analyse.peers.calls import calls_of, merged
from perfprobe.analyse.peers.held import Held
from perfprobe.analyse.peers.kernels import distribution_of, kernels_of
from perfprobe.analyse.peers.module_calls import ModuleCalls
from perfprobe.analyse.peers.on_gpu import busy_ns, on_gpu, runtime_times
from perfprobe.analyse.peers.paddle import phases_of, types_of
from perfprobe.analyse.peers.plugin_steps import MarkWatch, host_steps, with_gpu
from perfprobe.analyse.peers.tensorboard import RoleWatch, roles_of
from perfprobe.tables.columns import Rows, among
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.intervals import around
from perfprobe.tables.peers import PeerCalls, PeerSteps, PeerTimes, PeerType, Role
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.steps import StepEvents, StepMark, StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_ENDLESS = PeerSteps(np.full(1, -1, np.int32), np.zeros(1, np.int64), np.full(1, 2**62, np.int64))
_COLUMNS = ("start_ns", "end_ns", "scope", "thread", "name", "gpu_ns", "stack")


class PeerWatch:
    """Takes the operators of a trace batch by batch, and keeps those that begin in the leading loop's steps.

    Operators of all threads count, as in other profilers. Without steps all operators are one step.
    """

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._trace = trace
        self._times, self._marks = times, MarkWatch(trace)
        self._steps, self._events = _steps(times)
        self._left_out = _left_out(times)
        strings = trace.recording[Strings]
        self._roles = RoleWatch(strings)
        self._is_own = ~strings.marks(lambda text: text.startswith(tuple(PREFIXES.values())))
        self._is_mark = strings.marks(lambda text: text.startswith(PREFIXES[PROFILER]))
        self._module_calls = ModuleCalls(trace)
        self._operators: list[PeerCalls] = []
        self._ranges: list[PeerCalls] = []
        self._inner_calls = 0
        self._held = {name: Held() for name in ("operators", "inner", "own")}
        self._bounds_ns = (2**62, -1)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self._marks.add(batch)
        batch = LinkedOperators.part({name: getattr(batch, name) for name in _COLUMNS})
        batch = batch.take(is_possible(batch.start_ns, batch.end_ns))
        if len(batch) == 0:
            return
        first = first_of_each(batch.thread)
        for start, end in zip(first.tolist(), np.append(first[1:], len(batch)).tolist(), strict=True):
            own = batch.take(slice(start, end))
            self._module_calls.add(int(own.thread[0]), own.stack[own.scope != USER_SCOPE])
            self._add_thread(own)

    def _add_thread(self, rows: LinkedOperators) -> None:
        top = outermost(rows.start_ns, rows.scope)
        is_inner = rows.scope != USER_SCOPE
        is_inner[top] = False
        inner = np.flatnonzero(is_inner)
        child = inner[outermost(rows.start_ns[inner], rows.scope[inner])]
        outer_name = np.append(rows.name[top], np.int32(-1))[np.searchsorted(top, child)]
        inside = around(self._steps.start_ns, self._steps.end_ns, rows.start_ns) >= 0
        self._inner_calls += int(np.count_nonzero(inside[inner]))
        self._roles.add(rows, top, np.flatnonzero(rows.scope == USER_SCOPE))
        outer_name, child, top = outer_name[inside[child]], child[inside[child]], top[inside[top]]
        ranges = np.flatnonzero((rows.scope == USER_SCOPE) & inside & ~self._is_mark[rows.name])
        own = ranges[self._is_own[rows.name[ranges]]]
        self._hold(rows, {"operators": top, "inner": child, "own": own})
        self._note_bounds(rows, np.append(top, ranges))
        self._operators.append(calls_of(rows, top, np.full(len(top), -1, np.int32)))
        self._operators.append(calls_of(rows, child, outer_name))
        self._ranges.append(calls_of(rows, own, np.full(len(own), -1, np.int32)))
        self._operators, self._ranges = [merged(self._operators)], [merged(self._ranges)]

    def _hold(self, rows: LinkedOperators, chosen: dict[str, Rows]) -> None:
        for name, own in chosen.items():
            if len(own):
                self._held[name].add(rows.start_ns[own], rows.end_ns[own])

    def _note_bounds(self, rows: LinkedOperators, chosen: Rows) -> None:
        if len(chosen):
            first_ns, last_ns = self._bounds_ns
            first_ns = min(first_ns, int(rows.start_ns[chosen].min()))
            self._bounds_ns = first_ns, max(last_ns, int(rows.end_ns[chosen].max()))

    def result(self) -> PeerTimes | None:
        """All tables; None if no operator or range began in a step."""
        if self._bounds_ns[1] < 0:
            return None
        steps, has_steps = self._steps, self._steps is not _ENDLESS
        if not has_steps:
            bounds_ns = (np.array([time_ns], np.int64) for time_ns in self._bounds_ns)
            steps = PeerSteps(steps.step, *bounds_ns)
        operators, ranges = merged(self._operators), merged(self._ranges)
        gpu = on_gpu(self._trace)
        held = {name: each.all() for name, each in self._held.items()}
        phases = phases_of(steps, self._events, gpu)
        outer = int(operators.calls[operators.within < 0].sum())
        host = {
            PeerType.OPERATOR: (outer, *held["operators"]),
            PeerType.OPERATOR_INNER: (self._inner_calls, *held["inner"]),
            PeerType.USER_DEFINED: (int(ranges.calls.sum()), *held["own"]),
        }
        on_host, _ = host_steps(self._trace, self._marks.result(), self._times)
        plugin_steps = with_gpu(on_host, gpu, self._trace)
        return PeerTimes(
            steps=steps,
            has_steps=has_steps,
            left_out=self._left_out,
            phases=phases,
            types=types_of(steps, phases, host, gpu),
            operators=operators,
            ranges=ranges,
            kernels=kernels_of(steps, gpu),
            distribution=distribution_of(steps, self._roles.spans()[Role.COMMUNICATION], gpu),
            plugin_steps=plugin_steps,
            roles=roles_of(plugin_steps, self._roles.spans(), gpu),
            busy_ns=busy_ns(steps, gpu),
            runtime=runtime_times(self._trace),
            module_calls=self._module_calls.result(),
        )


def _steps(times: StepTimes) -> tuple[PeerSteps, StepEvents]:
    """The leading loop's steady steps ordered by time, and their events."""
    own = np.flatnonzero(times.steps.loop == 0)
    if len(own) == 0:
        return _ENDLESS, StepEvents.empty()
    kept = own[times.steps.take(own).counted()]
    steps = times.steps.take(kept)
    order = np.argsort(steps.start_ns, kind="stable")
    events = times.events.take(among(times.events.step, kept))
    return PeerSteps(kept[order].astype(np.int32), steps.start_ns[order], steps.end_ns[order]), events


def _left_out(times: StepTimes) -> dict[StepMark, int]:
    """Returns how many of the leading loop's steps averages leave out, by reason."""
    steps = times.steps.take(times.steps.loop == 0)
    marks = steps.mark[~steps.counted()]
    return {mark: count for mark in StepMark if (count := int(np.count_nonzero(marks == mark)))}
