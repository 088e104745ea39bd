"""In which steps autograd recorded a graph.

torch numbers the backward nodes of each thread. An operator that runs while gradients are enabled has the
number that the next node will get (torch/csrc/autograd, `sequence_number::peek`), and -1 under `no_grad` and
in inference mode. If that number grows during a step, nodes were made. A Python autograd Function takes a
number under `no_grad` too, so it does not count.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, Rows, distinct
from perfprobe.tables.events import Operators
from perfprobe.tables.intervals import around
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import FUNCTION
from perfprobe.tables.steps import StepKind, Steps
from perfprobe.tables.strings import Strings

_COLUMNS = ("start_ns", "thread", "scope", "sequence", "name")
_NONE = 2**62


def graphs(recording: Recording, steps: Steps) -> Int8:
    """For each step 1 if a graph was recorded, else 0; -1 for training, and for steps without operators."""
    rows = np.flatnonzero(steps.kind != StepKind.TRAINING)
    rows = rows[np.argsort(steps.start_ns[rows], kind="stable")]
    threads, is_operator = recording.os_threads(), recording[Strings].marks(lambda text: "::" in text)
    of_row = threads[steps.thread[rows]]
    known = {thread: _ThreadSteps(steps, rows[of_row == thread]) for thread in distinct(of_row).tolist()}
    for each in recording.operators(_COLUMNS) if known else ():
        batch = each.take((each.scope == FUNCTION) & is_operator[each.name])
        of_call = threads[batch.thread]
        for thread, own in known.items():
            own.add(batch.take(of_call == thread))
    found = np.full(len(steps), -1, np.int8)
    for own in known.values():
        found[own.rows] = own.graphs()
    return found


class _ThreadSteps:
    """Steps of one thread, ordered and without overlaps, and the sequence numbers seen in each.

    rows: their rows among all steps.
    """

    def __init__(self, steps: Steps, rows: Rows) -> None:
        self.rows = rows
        self._start_ns, self._end_ns = steps.start_ns[rows], steps.end_ns[rows]
        self._least = np.full(len(rows), _NONE, np.int64)
        self._most = np.full(len(rows), -1, np.int64)
        self._is_any = np.zeros(len(rows), np.bool_)

    def add(self, batch: Operators) -> None:
        """Add operators of that thread."""
        step = around(self._start_ns, self._end_ns, batch.start_ns)
        inside = step >= 0
        self._is_any[step[inside]] = True
        inside &= batch.sequence >= 0
        np.minimum.at(self._least, step[inside], batch.sequence[inside])
        np.maximum.at(self._most, step[inside], batch.sequence[inside])

    def graphs(self) -> Int8:
        """1, 0 or -1 for each of its steps, as in `graphs`."""
        grew = (self._most > self._least).astype(np.int8)
        return np.where(self._is_any, grew, np.int8(-1)).astype(np.int8)
