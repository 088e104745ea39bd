"""In which steps autograd recorded a graph while a module was called.

torch numbers the backward nodes of each thread. An operator that runs while gradients are enabled has the
number that the next node will get (torch/csrc/autograd, `sequence_number::peek`), and -1 under `no_grad` and
in inference mode. If that number grows during a call, nodes were made. A Python autograd Function takes a
number under `no_grad` too, so it does not count. Nor does what runs between calls, such as the quantising of
a model.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int8, Int64, Rows, distinct
from perfprobe.tables.events import Operators
from perfprobe.tables.intervals import around
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import FUNCTION
from perfprobe.tables.steps import EventKind, StepEvents, StepKind, Steps
from perfprobe.tables.strings import Strings

_COLUMNS = ("start_ns", "thread", "scope", "sequence", "name")
_NONE = 2**62


def graphs(recording: Recording, steps: Steps, events: StepEvents) -> Int8:
    """For each step 1 if a graph was recorded, else 0; -1 for training, and for steps without operators."""
    calls = events.take((events.kind == EventKind.CALL) & (steps.kind[events.step] != StepKind.TRAINING))
    calls = calls.take(np.argsort(calls.start_ns, kind="stable"))
    threads, is_operator = recording.os_threads(), recording[Strings].marks(lambda text: "::" in text)
    of_call = threads[steps.thread[calls.step]]
    known = {thread: _ThreadCalls(calls.take(of_call == thread)) for thread in distinct(of_call).tolist()}
    for each in recording.operators(_COLUMNS) if known else ():
        batch = each.take((each.scope == FUNCTION) & is_operator[each.name])
        thread_of = threads[batch.thread]
        for thread, own in known.items():
            own.add(batch.take(thread_of == thread))
    found = np.full(len(steps), -1, np.int8)
    for own in known.values():
        np.maximum.at(found, own.step, own.graphs())
    return found


class _ThreadCalls:
    """Calls of one thread, ordered and without overlaps, and the sequence numbers seen in each.

    step: of each call.
    """

    def __init__(self, calls: StepEvents) -> None:
        self.step: Rows = calls.step.astype(np.int64)
        self._start_ns, self._end_ns = calls.start_ns, calls.end_ns
        self._least: Int64 = np.full(len(calls), _NONE, np.int64)
        self._most: Int64 = np.full(len(calls), -1, np.int64)
        self._is_any = np.zeros(len(calls), np.bool_)

    def add(self, batch: Operators) -> None:
        """Add operators of that thread."""
        call = around(self._start_ns, self._end_ns, batch.start_ns)
        inside = call >= 0
        self._is_any[call[inside]] = True
        inside &= batch.sequence >= 0
        np.minimum.at(self._least, call[inside], batch.sequence[inside])
        np.maximum.at(self._most, call[inside], batch.sequence[inside])

    def graphs(self) -> Int8:
        """1, 0 or -1 for each of the calls, as in `graphs`."""
        grew = (self._most > self._least).astype(np.int8)
        return np.where(self._is_any, grew, np.int8(-1)).astype(np.int8)
