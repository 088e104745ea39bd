"""Time on a busy machine in which the thread neither ran nor waited for a processor, and did not sleep.

Some steps last long without waiting that the scheduler counts, as where the thread that holds a lock of the
kernel has no processor. It is seen where a phase that only computes takes far longer than in most steps.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.account.watch import Watched
from perfprobe.tables.columns import Int64, among
from perfprobe.tables.intervals import around
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import StepPhase, StepTimes

# Phases that do not wait for anything. In others a rare long time may be the program's: a file, a message.
_COMPUTE = (StepPhase.FORWARD, StepPhase.BACKWARD, StepPhase.OPTIMIZER, StepPhase.ZERO_GRAD)
_USUAL = 75  # percentile over the steps: below it, a phase takes as long as it usually does
_FEWEST = 20  # steps; with less it is not known what is usual


def stopped(recording: Recording, times: StepTimes, watched: Watched) -> Int64:
    """How long the thread stood still like that in all steps, by phase.

    In a step it is at most what neither the CPU clock nor the scheduler explains.
    """
    unexplained_ns = _unexplained(recording, times, watched)
    rows, steps = times.step_phases, len(watched.steps)
    rows = rows.take(among(rows.step, watched.steps) & (rows.waited_ns >= 0))
    if steps < _FEWEST or len(rows) == 0:
        return np.zeros(len(StepPhase), np.int64)
    own_ns = np.zeros((steps, len(StepPhase)))
    at = np.searchsorted(watched.steps, rows.step), rows.phase
    own_ns[at] = np.maximum(rows.time_ns - rows.waited_ns, 0)
    over_ns = np.maximum(own_ns - np.percentile(own_ns, _USUAL, axis=0), 0)
    over_ns *= among(np.arange(len(StepPhase)), _COMPUTE)
    part = np.minimum(unexplained_ns / np.maximum(over_ns.sum(axis=1), 1), 1)
    return np.asarray(part @ over_ns, np.int64)


def _unexplained(recording: Recording, times: StepTimes, watched: Watched) -> Int64:
    """Of each step that counts, the time without running and waiting for a processor; 0 if not known."""
    live, os_threads = recording[LiveSteps].counted(), recording.os_threads()
    own = os_threads[live.thread] == os_threads[times.loops.thread[0]]
    live = live.take(own & (live.cpu_ns > 0) & (live.waited_ns >= 0))
    steps = times.steps.take(watched.steps)
    step = around(steps.start_ns, steps.end_ns, live.start_ns + (live.end_ns - live.start_ns) // 2)
    found = np.zeros(len(steps), np.int64)
    left_ns = live.end_ns - live.start_ns - live.cpu_ns - live.waited_ns
    np.maximum.at(found, step[step >= 0], left_ns[step >= 0])
    return found
