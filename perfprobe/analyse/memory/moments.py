"""Start and end of steps, calls of backward and optimizers, which decide the categories of memory."""

from __future__ import annotations

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.intervals import around
from perfprobe.tables.steps import EventKind, StepMark, StepTimes

NEVER_NS = np.int64(2**62)


@frozen
class Spans:
    """Spans of time that do not overlap, ordered by time."""

    start_ns: Int64
    end_ns: Int64

    def around(self, time_ns: Int64) -> Rows:
        """Returns the index of the span that contains each time; -1 for none."""
        return around(self.start_ns, self.end_ns, time_ns)

    def next(self, time_ns: Int64) -> Int64:
        """Returns when the first span at or after each time begins; `NEVER_NS` if there is none."""
        place = np.searchsorted(self.start_ns, time_ns, side="left")
        return np.append(self.start_ns, NEVER_NS)[place]


@frozen
class Moments:
    """Spans of the leading loop.

    Attributes:
        steps: all its steps.
        counts: which steps count in averages.
        backwards: calls of backward.
        step_of: the step of each of these calls.
        optimizers: calls of an optimizer's `step`.
    """

    steps: Spans
    counts: Mask
    backwards: Spans
    step_of: Rows
    optimizers: Spans


def moments(times: StepTimes) -> Moments:
    """Returns the spans of the leading loop; all are empty without steps."""
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
