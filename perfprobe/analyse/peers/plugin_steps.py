"""The TensorBoard plugin's steps: torch_tb_profiler 0.4.3, `StepParser` in profiler/event_parser.py."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.loop.ranges import PREFIXES, PROFILER
from perfprobe.analyse.loop.timeline import is_possible
from perfprobe.analyse.peers.on_gpu import OnGpu
from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu_use import PluginSteps, StepMarks
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_NO_END = 0.8  # the last step is left out if it has less than this share of the work of the one before


class MarkWatch:
    """Takes the operators of a trace batch by batch; keeps marks of steps and the time span of all."""

    def __init__(self, trace: Trace) -> None:
        self._strings = trace.recording[Strings]
        self._is_mark = self._strings.marks(lambda text: text.startswith(PREFIXES[PROFILER]))
        self._marks: list[PluginSteps] = []
        self._first_ns, self._last_ns = 2**62, -1

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        possible = is_possible(batch.start_ns, batch.end_ns)
        is_mark = possible & (batch.scope == USER_SCOPE) & self._is_mark[batch.name]
        if bool(is_mark.any()):
            names = batch.name[is_mark].tolist()
            number = np.array([_number(self._strings[name]) for name in names], np.int32)
            self._marks.append(PluginSteps(number, batch.start_ns[is_mark], batch.end_ns[is_mark]))
        own = possible & (is_mark | (batch.scope != USER_SCOPE))
        if bool(own.any()):
            self._first_ns = min(self._first_ns, int(batch.start_ns[own].min()))
            self._last_ns = max(self._last_ns, int(batch.end_ns[own].max()))

    def result(self) -> StepMarks:
        """The marks, and when the first operator began and the last ended."""
        return StepMarks(PluginSteps.concat(self._marks), self._first_ns, self._last_ns)


def host_steps(trace: Trace, marks: StepMarks, times: StepTimes) -> tuple[PluginSteps, bool]:
    """The steps of the program's thread in order, and whether any were found.

    If none were found, one step spans all operators. So does a trace of another profiler without a schedule,
    because its profiler counts one step.

    Args:
        times: steps found by perfprobe, used for a program that marks none itself.
    """
    found = marks.ranges
    if len(found) == 0 and not trace.recording.is_trace:
        own = np.flatnonzero(times.steps.loop == 0).astype(np.int32)
        found = PluginSteps(own, times.steps.start_ns[own], times.steps.end_ns[own])
    if len(found):
        return found.take(np.argsort(found.start_ns, kind="stable")), True
    if marks.last_ns < 0:
        return PluginSteps.empty(), False
    bounds_ns = (np.array([time_ns], np.int64) for time_ns in (marks.first_ns, marks.last_ns))
    return PluginSteps(np.full(1, -1, np.int32), *bounds_ns), False


def _number(mark: str) -> int:
    digits = mark.partition("#")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 9 else -1


def with_gpu(steps: PluginSteps, gpu: OnGpu | None, trace: Trace) -> PluginSteps:
    """The steps, each prolonged to the end of the work launched in it.

    A launch counts for a step only if the whole call is within it. Without launches the steps do not change.
    In traces of 2021 the first step also begins after earlier work, and last steps that were cut off are left
    out: today's profilers wait for the GPU, and the plugin does neither.
    """
    if gpu is None or len(steps) == 0:
        return steps
    step = _launched_in(steps, gpu)
    counts = np.bincount(step[step >= 0], minlength=len(steps))
    if not counts.any():
        return steps
    last_ns = np.full(len(steps), -1, np.int64)
    np.maximum.at(last_ns, step[step >= 0], gpu.end_ns[step >= 0])
    start_ns, end_ns = [], []
    is_old = trace.recording.fact("trace", "categories") == "old"
    before_ns = _before_first(steps, gpu, step) if is_old else int(steps.start_ns[0])
    for begun, ended, last in zip(
        steps.start_ns.tolist(), steps.end_ns.tolist(), last_ns.tolist(), strict=True
    ):
        start_ns.append(max(before_ns, begun))
        before_ns = max(ended, last, start_ns[-1])
        end_ns.append(before_ns)
    moved = PluginSteps(steps.number, np.array(start_ns, np.int64), np.array(end_ns, np.int64))
    return moved.take(np.s_[: _kept(counts)]) if is_old else moved


def _launched_in(steps: PluginSteps, gpu: OnGpu) -> Int32:
    """The step in which each piece of work was launched, -1 for none."""
    at = np.searchsorted(steps.start_ns, gpu.begun_ns, "right") - 1
    inside = (at >= 0) & (gpu.begun_ns >= 0) & (gpu.called_ns <= steps.end_ns[np.maximum(at, 0)])
    return np.where(inside, at, -1).astype(np.int32)


def _before_first(steps: PluginSteps, gpu: OnGpu, step: Int32) -> int:
    """Returns when the first step begins: after work of earlier launches that ended before its own work
    began.
    """
    begins_ns: Int64 = gpu.start_ns[step == 0]
    first_ns = int(steps.start_ns[0])
    if len(begins_ns) == 0:
        return first_ns
    earlier_ns = gpu.end_ns[(step < 0) & (gpu.end_ns < begins_ns.min())]
    return max(first_ns, int(earlier_ns.max())) if len(earlier_ns) else first_ns


def _kept(counts: Int64) -> int:
    """Returns how many steps are kept. The profiler may have stopped before it recorded the work of the last
    ones.
    """
    last = int(np.flatnonzero(counts)[-1])
    is_cut = last > 0 and counts[last - 1] * _NO_END > counts[last]
    return last if is_cut else last + 1
