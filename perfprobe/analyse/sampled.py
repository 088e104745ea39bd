"""Finds the operator that was running when each sample was taken.

Samples in Python code that autograd called (a Function written in Python, a hook) are outside of operators.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfprobe.analyse.at_moments import AtMoments, Moments
from perfprobe.analyse.grouping import first_of_each, group_by_keys
from perfprobe.models.nodes import ENGINE
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.python import SampledStacks, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.scopes import BACKWARD_FUNCTION
from perfprobe.tables.stacks import Stacks, depths
from perfprobe.tables.strings import Strings
from perfprobe.tables.threads import each_thread

_OPERATOR = ("name", "overload", "signature", "phase")
_IDENTITY = ("name", "overload", "signature")
_KEYS = ("thread", "stack", "look", *_OPERATOR)


class SampledOperators(AtMoments):
    """Takes the operators of a trace batch by batch.

    samples: all samples, cut to the time of the program.
    """

    def __init__(self, recording: Recording) -> None:
        self._thread_of = recording.os_threads()
        self._found = {
            name: np.full(len(recording[Samples]), -1, SampledStacks.dtypes[name]) for name in _OPERATOR
        }
        self._stack = recording[Samples].stack
        self._python = PythonOfAutograd(recording)
        self._looks = _by_thread(recording[Samples], self._thread_of)
        self.samples = in_program(recording)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        if not self._looks:
            return
        first = first_of_each(batch.thread)
        for start, end in zip(first.tolist(), np.append(first[1:], len(batch)).tolist(), strict=True):
            looks = self._looks.get(int(self._thread_of[batch.thread[start]]))
            if looks is not None:
                rows = batch if end - start == len(batch) else batch.take(slice(start, end))
                self.find(looks, rows)

    def result(self) -> SampledStacks:
        """The time of each thread, stack and operator, in no order."""
        samples, found = self.samples, self._found
        if len(samples) == 0:
            return SampledStacks.empty()
        keys = {name: getattr(samples, name) for name in _KEYS if name not in found} | found
        order, first = group_by_keys([keys[name] for name in _KEYS])
        time_ns = samples.end_ns - samples.start_ns
        known = samples.cpu_ns >= 0
        cpu_ns, measured = (
            np.add.reduceat(column[order], first)
            for column in (np.where(known, samples.cpu_ns, 0), known * 1)
        )
        return SampledStacks(
            **{name: column[order[first]] for name, column in keys.items()},
            looks=np.add.reduceat(samples.looks.astype(np.int64)[order], first),
            time_ns=np.add.reduceat(time_ns[order], first),
            cpu_ns=np.where(measured > 0, cpu_ns, -1),
            own_ns=np.add.reduceat((time_ns - waits(samples, self._thread_of))[order], first),
        )

    def take(self, batch: LinkedOperators, place: Rows, rows: Rows) -> None:
        """Notes for the samples the operators at these places."""
        is_python = self._python.at(batch, place, self._stack[rows])
        for name, column in self._found.items():
            value = getattr(batch, name)[place]
            column[rows] = np.where(is_python, np.int32(-1), value) if name in _IDENTITY else value


class PythonOfAutograd:
    """Knows which samples inside operators show Python that autograd called."""

    def __init__(self, recording: Recording) -> None:
        self._depth = np.append(depths(recording[Stacks].parent), -1)
        self._is_engine = recording[Strings].marks(lambda name: name.startswith(ENGINE))

    def at(self, rows: LinkedOperators, place: Rows, stack: Int32) -> Mask:
        """Whether samples with these stacks, inside the operators at these places, do."""
        is_autograd = (rows.scope[place] == BACKWARD_FUNCTION) | self._is_engine[rows.name[place]]
        is_inside = self._depth[stack] > self._depth[rows.stack[place]]
        return np.asarray((rows.python_ns[place] >= 0) | (is_autograd & is_inside))


def in_program(recording: Recording) -> Samples:
    """The samples, cut to the time between the program's start and stop; CPU time is cut in proportion.

    Samples completely outside have a length of 0.
    """
    samples = recording[Samples]
    start_ns, end_ns = samples.start_ns, np.maximum(samples.end_ns, samples.start_ns)
    whole_ns = end_ns - start_ns
    start, stop = (recording.number(moment, "monotonic_ns") for moment in ("start", "stop"))
    if start is not None:
        start_ns, end_ns = np.maximum(start_ns, int(start)), np.maximum(end_ns, int(start))
    if stop is not None:
        start_ns, end_ns = np.minimum(start_ns, int(stop)), np.minimum(end_ns, int(stop))
    cut = (samples.cpu_ns > 0) & (end_ns - start_ns < whole_ns)
    cpu_ns = samples.cpu_ns.copy()
    cpu_ns[cut] = (cpu_ns[cut] * ((end_ns - start_ns)[cut] / whole_ns[cut])).astype(np.int64)
    return replace(samples, start_ns=start_ns, end_ns=end_ns, cpu_ns=cpu_ns)


def waits(samples: Samples, thread_of: Int64) -> Int64:
    """How long the thread waited for a processor in each sample, at most all of it; 0 if not known.

    The kernel adds a wait when it ends: what is longer than the sample began in those before.
    """
    found_ns = np.zeros(len(samples), np.int64)
    length_ns, wait_ns = samples.end_ns - samples.start_ns, np.maximum(samples.wait_ns, 0)
    latest_first = np.argsort(samples.end_ns, kind="stable")[::-1]
    for _, own in each_thread(thread_of[samples.thread[latest_first]]):
        rows = latest_first[own]
        sums_ns = np.cumsum(wait_ns[rows] - length_ns[rows])
        left_ns = sums_ns - np.minimum(np.minimum.accumulate(sums_ns), 0)
        found_ns[rows] = wait_ns[rows] - np.diff(left_ns, prepend=0)
    return found_ns


def _by_thread(samples: Samples, thread_of: Int64) -> dict[int, Moments]:
    if len(samples) == 0:
        return {}
    thread = thread_of[samples.thread]
    time_ns = np.where(samples.looks > 0, samples.end_ns, samples.start_ns)
    by_time = np.argsort(time_ns, kind="stable")
    parts = ((key, by_time[own]) for key, own in each_thread(thread[by_time]))
    return {key: Moments(rows, time_ns[rows]) for key, rows in parts if samples.thread[rows[0]] >= 0}
