"""How fast a run was, and how many steps a run shall have."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.benchmark import steps_that_count
from perfprobe.models.waiting import waited_each_ns
from perfprobe.runs import Run
from perfprobe.support.frozen import frozen
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording

LEAST_STEPS, MOST_STEPS = 40, 400  # of which ten are warm-up
FEWEST_STEPS = 3  # fewer: the whole run is measured
PILOT_S = 8  # of steps, in the run that shows how long they take
_SHORTEST_S, _LONGEST_S = 2.0, 20.0  # of a run's steps, with at least 40 of them unless they take longer
_FEWEST_OF_LONG = 13
_BEHIND = 5  # steps behind an evaluation


@frozen(kw_only=True)
class Pace:
    """How fast a run was.

    Attributes:
        time_ns: of a step with what lies between steps (evaluations, starts of workers), or of the run.
        own_ns: the same without what the loop's thread waited for a processor, if that is known.
        steps: how many count.
        all_steps: how many there were.
        to_evaluation: how many there must be for the first evaluation to lie between steps; 0 without any.
    """

    time_ns: float
    own_ns: float
    steps: int
    all_steps: int
    to_evaluation: int = 0


def pace(found: Run) -> Pace:
    """Reads it from a benchmark. Without steps the whole run counts."""
    recording = found.recording
    steps, live = steps_that_count(recording), recording[LiveSteps].counted()
    time_ns = own_ns = float(max((found.trace.end_ns or 0) - (found.trace.start_ns or 0), 1))
    if len(steps) >= FEWEST_STEPS:
        begin_ns, end_ns = steps.start_ns.min(), steps.end_ns.max()
        time_ns = float(end_ns - begin_ns) / len(steps)
        own_ns = time_ns - _waited_ns(recording, int(steps.thread[0]), begin_ns, end_ns) / len(steps)
    evaluated_ns = live.end_ns[live.is_evaluation == 1]
    before = int((live.end_ns < evaluated_ns.min()).sum()) if len(evaluated_ns) else 0
    return Pace(
        time_ns=time_ns,
        own_ns=max(own_ns, 1.0),
        steps=len(steps) if len(steps) >= FEWEST_STEPS else 0,
        all_steps=int(recording.number("live_steps", "steps") or 0),
        to_evaluation=before + _BEHIND if len(evaluated_ns) else 0,
    )


def _waited_ns(recording: Recording, thread: int, begin_ns: np.int64, end_ns: np.int64) -> float:
    """0 if it is not known."""
    span = np.array([begin_ns], np.int64), np.array([end_ns], np.int64)
    found = waited_each_ns(recording, thread, *span)
    return 0.0 if found is None or np.isnan(found[0]) else float(found[0])


def steps_of_a_run(pilot: Pace) -> int:
    """How many steps the others shall have, after one that ran for some seconds."""
    if not pilot.steps:
        return MOST_STEPS  # the program ends by itself
    step_s = pilot.own_ns / 1e9  # another run may find the machine less busy
    steps = max(LEAST_STEPS, round(_SHORTEST_S / step_s), pilot.to_evaluation)
    if steps * step_s > _LONGEST_S:
        steps = max(round(_LONGEST_S / step_s), _FEWEST_OF_LONG)
    return min(steps, MOST_STEPS)
