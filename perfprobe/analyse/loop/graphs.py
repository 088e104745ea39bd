"""In which steps autograd recorded a graph.

torch numbers the backward nodes of a thread as it makes them, and an operator that runs while gradients are
enabled has the number that the next node will get (torch/csrc/autograd, `sequence_number::peek`; -1 under
`no_grad` and in inference mode). Where the number grows, nodes were made.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, distinct
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import FUNCTION
from perfprobe.tables.steps import StepKind, Steps

_COLUMNS = ("start_ns", "thread", "scope", "sequence")
_NONE = 2**62


def graphs(recording: Recording, steps: Steps) -> Int8:
    """Whether a graph was recorded in each step, 0 or 1; -1 of training, and without operators in it."""
    rows = np.flatnonzero(steps.kind != StepKind.TRAINING)
    rows = rows[np.argsort(steps.start_ns[rows], kind="stable")]
    found = np.full(len(steps), -1, np.int8)
    threads = recording.os_threads()
    for thread in distinct(threads[steps.thread[rows]]).tolist():
        own = rows[threads[steps.thread[rows]] == thread]
        found[own] = _of_thread(recording, steps.take(own), thread)
    return found


def _of_thread(recording: Recording, steps: Steps, thread: int) -> Int8:
    """The same for steps of one thread in their order, which do not overlap."""
    least, most = np.full(len(steps), _NONE, np.int64), np.full(len(steps), -1, np.int64)
    is_any = np.zeros(len(steps), np.bool_)
    threads = recording.os_threads()
    for each in recording.operators(_COLUMNS):
        batch = each.take((threads[each.thread] == thread) & (each.scope == FUNCTION))
        step = np.searchsorted(steps.start_ns, batch.start_ns, "right") - 1
        inside = (step >= 0) & (batch.start_ns < steps.end_ns[np.maximum(step, 0)])
        is_any[step[inside]] = True
        inside &= batch.sequence >= 0
        np.minimum.at(least, step[inside], batch.sequence[inside])
        np.maximum.at(most, step[inside], batch.sequence[inside])
    return np.where(is_any, (most > least).astype(np.int8), np.int8(-1)).astype(np.int8)
