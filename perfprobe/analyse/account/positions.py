"""How much of a thread's CPU time each sample stands for, by its position in its step.

On a busy machine a thread is stopped more often at some lines than at others, and looks find it there. But
steps are alike: what runs in the middle of one step's CPU time runs there in others. So each look stands for
the part of a step that is nearer to its position than to that of any other look, in all steps about as long.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, distinct
from perfprobe.tables.intervals import around
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.steps import Steps

_FEWEST = 10  # steps


def cpu_times(recording: Recording, thread: int, steps: Steps, samples: Samples) -> Int64 | None:
    """For each of a thread's samples the CPU time in all steps that it stands for; None if it was not read.

    Args:
        thread: the system's number.
        steps: those that count, in order.
    """
    live = _clocked(recording, thread, steps)
    if len(live) < _FEWEST:
        return None
    begin_ns = live.clock_ns - live.cpu_ns
    kind = np.rint(np.log2(live.cpu_ns / np.median(live.cpu_ns)) / 2)  # 0: from half to twice the median
    step = around(begin_ns, live.clock_ns, samples.clock_ns)
    step[samples.looks == 0] = -1
    found_ns = np.zeros(len(samples))
    for each in distinct(kind).tolist():
        at = np.flatnonzero((step >= 0) & (kind[step] == each))
        position = (samples.clock_ns[at] - begin_ns[step[at]]) / live.cpu_ns[step[at]]
        order = np.argsort(position, kind="stable")
        ordered = position[order]
        edges = np.concatenate([[0], (ordered[1:] + ordered[:-1]) / 2, [1]])
        found_ns[at[order]] = np.diff(edges)[: len(at)] * int(live.cpu_ns[kind == each].sum())
    return np.rint(found_ns).astype(np.int64)


def _clocked(recording: Recording, thread: int, steps: Steps) -> LiveSteps:
    """The steps whose CPU clock was read, of those that count; in order of that clock."""
    live = recording[LiveSteps].counted()
    is_own = recording.os_threads()[live.thread] == thread
    live = live.take(is_own & (live.cpu_ns > 0) & (live.clock_ns >= 0))
    middle_ns = live.start_ns + (live.end_ns - live.start_ns) // 2
    live = live.take(around(steps.start_ns, steps.end_ns, middle_ns) >= 0)
    return live.take(np.argsort(live.clock_ns, kind="stable"))
