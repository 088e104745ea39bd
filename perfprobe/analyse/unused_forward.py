"""Finds lines whose forward makes backward nodes that never run: their result is not used for a gradient.

An operator has the number that the thread's next backward node will get (see `analyse/loop/graphs.py`). If
the next operator's is larger, it made nodes.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.account.watch import same_line
from perfprobe.tables.columns import Int32, Int64, Mask, among, distinct
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.intervals import around
from perfprobe.tables.scopes import FUNCTION
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepKind, StepTimes
from perfprobe.tables.trace import Phase, Trace
from perfprobe.tables.unused_forward import UnusedForward

_BITS = 32
_MOST_STEPS = 500  # that are looked at, evenly over all; a place with a tenth of the time is in many


class UnusedForwardWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        leading = times.leading()
        steps = times.steps.take(leading[:: max(len(leading) // _MOST_STEPS, 1)])
        self._start_ns, self._end_ns = steps.start_ns, steps.end_ns
        self._is_training = len(times.loops) > 0 and times.loops.kind[0] == StepKind.TRAINING
        os_threads = trace.recording.os_threads()
        self._is_own = os_threads == (os_threads[times.loops.thread[0]] if len(times.loops) else -1)
        self._line = same_line(trace.recording[Frames])
        self._made = self._ran = np.empty(0, np.int64)  # places whose operators made nodes, and ran them
        self._last: tuple[int, int] | None = None  # the key and the number of the last operator

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        if not self._is_training:
            return
        inside = around(self._start_ns, self._end_ns, batch.start_ns) >= 0
        if not bool(inside.any()):
            return
        rows = batch.take(inside)
        backward = rows.phase == Phase.BACKWARD
        key = self._keys(np.where(backward, rows.forward_frame, rows.frame), rows.module)
        self._ran = distinct(np.append(self._ran, key[backward]))
        forward = ~backward & self._is_own[rows.thread] & (rows.scope == FUNCTION)
        forward &= rows.sequence >= 0
        self._add_forward(key[forward], rows.sequence[forward])

    def _keys(self, frame: Int32, module: Int32) -> Int64:
        """The line and the module of each, as one number, each with 1 added: -1 is none."""
        return (self._line[frame].astype(np.int64) + 1 << _BITS) + module + 1

    def _add_forward(self, key: Int64, number: Int64) -> None:
        if len(key) == 0:
            return
        if self._last is not None:
            key, number = np.append(self._last[0], key), np.append(self._last[1], number)
        grew: Mask = np.diff(number) > 0
        self._made = distinct(np.append(self._made, key[:-1][grew]))
        self._last = int(key[-1]), int(number[-1])

    def result(self) -> UnusedForward | None:
        """The places; None where no line has backward, which may not be known."""
        made = self._made[self._made >> _BITS > 0]
        unused = made[~among(made, self._ran)]
        if len(unused) == len(made):
            return None
        frame, module = unused >> _BITS, unused & (1 << _BITS) - 1
        return UnusedForward(*((each - 1).astype(np.int32) for each in (frame, module)))
