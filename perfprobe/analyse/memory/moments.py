"""The moments of a training loop by which memory is told apart: ends of steps, of backward, of optimizers."""

from __future__ import annotations

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.steps import EventKind, StepMark, StepTimes

NEVER_NS = np.int64(2**62)


@frozen
class Spans:
    """Stretches of time that do not overlap, by time."""

    start_ns: Int64
    end_ns: Int64

    def around(self, time_ns: Int64) -> Rows:
        """Which one each time is in; -1 for none."""
        place = np.searchsorted(self.start_ns, time_ns, side="right") - 1
        inside = (place >= 0) & (time_ns < np.append(self.end_ns, 0)[place])
        return np.where(inside, place, -1)

    def next(self, time_ns: Int64) -> Int64:
        """When the next one begins at or after each time; `NEVER_NS` if none does."""
        place = np.searchsorted(self.start_ns, time_ns, side="left")
        return np.append(self.start_ns, NEVER_NS)[place]


@frozen
class Moments:
    """Of the leading loop.

    Attributes:
        steps: all its steps.
        counts: which of them count in averages.
        backwards: its calls of backward.
        step_of: the step of each of these.
        optimizers: its optimizers' steps.
    """

    steps: Spans
    counts: Mask
    backwards: Spans
    step_of: Rows
    optimizers: Spans


def moments(times: StepTimes) -> Moments:
    """Those of the leading loop; empty without steps."""
    own = np.flatnonzero(times.steps.loop == 0)
    own = own[np.argsort(times.steps.start_ns[own], kind="stable")]
    steps = times.steps.take(own)
    number = np.full(len(times.steps), -1, np.intp)
    number[own] = np.arange(len(own))
    is_steady = steps.mark == StepMark.STEADY
    backwards, step_of = _events(times, EventKind.BACKWARD, number)
    optimizers, _ = _events(times, EventKind.OPTIMIZER, number)
    return Moments(
        steps=Spans(steps.start_ns, steps.end_ns),
        counts=is_steady if bool(is_steady.any()) else np.ones(len(steps), np.bool_),
        backwards=backwards,
        step_of=step_of,
        optimizers=optimizers,
    )


def _events(times: StepTimes, kind: EventKind, number: Rows) -> tuple[Spans, Rows]:
    events = times.events
    chosen = np.flatnonzero((events.kind == kind) & (np.append(number, -1)[events.step] >= 0))
    chosen = chosen[np.argsort(events.start_ns[chosen], kind="stable")]
    return Spans(events.start_ns[chosen], events.end_ns[chosen]), number[events.step[chosen]]
