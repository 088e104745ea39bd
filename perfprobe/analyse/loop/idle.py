"""When a server's thread waited for the next request: time between the calls of a model, in no step.

The thread stood still in a function of the standard library that waits for clients or for a queue, or in a
system call that does, called from the program's own line; and no other thread of the process nor a child
process worked. If one did, it may be what the thread waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.loop.covered import outside
from perfprobe.analyse.loop.loops import ThreadLoop
from perfprobe.analyse.loop.timeline import LATEST_NS, Segments
from perfprobe.analyse.loop.training import Span
from perfprobe.analyse.sampled import in_program
from perfprobe.models.waiting import stood_still
from perfprobe.support.first_line import bare
from perfprobe.tables.columns import Int32, Int64, Mask, among, distinct
from perfprobe.tables.python import Look, Origin, Samples, WaitsFor
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.steps import StepSource
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import ThreadActivity
from perfprobe.tables.trace import Trace

# The functions that wait for clients, or for work from elsewhere: the end of the file's path, their names.
_WAITS = (
    ("/selectors.py", ("select",)),
    ("/socket.py", ("accept", "readinto")),
    ("/queue.py", ("get",)),
    ("/multiprocessing/queues.py", ("get",)),
    ("/multiprocessing/connection.py", ("accept", "poll", "recv", "recv_bytes")),
    ("/concurrent/futures/thread.py", ("_worker",)),
)
_LEAST_NS = 1_000_000  # shorter waits stay in the steps
_USUAL = 0.9  # of the time in which a thread was seen to stand still between operators
_AWAY = 0.8  # of the time before the operator


class IdleTime(NamedTuple):
    """Stretches of time in order, without overlaps. frame: the user's line that waited longest, -1 none."""

    start_ns: Int64
    end_ns: Int64
    frame: int

    @property
    def time_ns(self) -> int:
        """The sum."""
        return int((self.end_ns - self.start_ns).sum())


NO_IDLE_TIME = IdleTime(np.empty(0, np.int64), np.empty(0, np.int64), -1)


class Idle:
    """Finds the idle time of loops that call a model and train nothing."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        samples = in_program(trace.recording)
        self._samples = samples.take((samples.look == Look.READ) & (samples.stack >= 0))
        self._threads = trace.recording.os_threads()[self._samples.thread]
        length_ns = self._samples.end_ns - self._samples.start_ns
        self._still = np.asarray(stood_still(trace.recording, self._samples.cpu_ns, length_ns), np.bool_)
        in_kernel = _waits_in_kernel(self._samples)
        waits = request_waits(trace)[self._samples.stack] & (self._still | in_kernel)
        self._waits = waits | own_waits(trace, self._samples)

    def apart(self, loop: ThreadLoop, own: Segments) -> tuple[list[Span], IdleTime]:
        """The steps of a loop without idle time, and that between them. own: the thread's segments."""
        if loop.source is not StepSource.MODULE or not bool(self._waits.any()):
            return list(loop.spans), NO_IDLE_TIME
        idle = self._of(loop, own)
        inside = (idle.end_ns > loop.spans[0].start_ns) & (idle.start_ns < loop.spans[-1].end_ns)
        idle = IdleTime(idle.start_ns[inside], idle.end_ns[inside], idle.frame)
        return _without(loop.spans, idle), idle

    def _of(self, loop: ThreadLoop, own: Segments) -> IdleTime:
        waits = Samples.concat([self._seen(loop.thread), self._before_work(loop, own)])
        waits = waits.take(np.argsort(waits.start_ns, kind="stable"))
        busy_start_ns, busy_end_ns = self._others(loop.thread)
        cut_start_ns, cut_end_ns = (
            np.concatenate(each) for each in ((busy_start_ns, own.start_ns), (busy_end_ns, own.end_ns))
        )
        row, start_ns, end_ns = outside(waits.start_ns, waits.end_ns, cut_start_ns, cut_end_ns)
        long = end_ns - start_ns >= _LEAST_NS
        row, start_ns, end_ns = row[long], start_ns[long], end_ns[long]
        frame = np.append(self._trace.sites.frame, np.int32(-1))[waits.stack[row]]
        return IdleTime(start_ns, end_ns, _longest(frame, end_ns - start_ns))

    def _seen(self, thread: int) -> Samples:
        """Waits that samples found. If the thread also ran, that was before."""
        found = self._samples.take((self._threads == thread) & self._waits)
        began_ns = np.minimum(found.start_ns + np.maximum(found.cpu_ns, 0), found.end_ns)
        return Samples(**found.columns() | {"start_ns": began_ns})

    def _before_work(self, loop: ThreadLoop, own: Segments) -> Samples:
        """Waits that ended in an operator before the next sample, up to that operator, without a stack.

        They were waits for requests if the thread was away from processors as long as that, and nearly always
        waited for requests where samples saw it stand still.
        """
        start_ns, end_ns = self._samples.start_ns, self._samples.end_ns
        next_ns = np.append(own.start_ns, LATEST_NS)[np.searchsorted(own.start_ns, start_ns, "right")]
        is_own = (self._threads == loop.thread) & (start_ns >= loop.spans[0].start_ns)
        works = next_ns <= end_ns
        stood = is_own & self._still & ~works & (end_ns <= loop.spans[-1].end_ns)
        known_ns, waited_ns = (int((end_ns - start_ns)[each].sum()) for each in (stood, stood & self._waits))
        if waited_ns <= _USUAL * known_ns:
            return self._samples.take(slice(0))
        ran_ns = np.maximum(self._samples.cpu_ns, 0) + np.maximum(self._samples.wait_ns, 0)
        away = (self._samples.cpu_ns >= 0) & (end_ns - start_ns - ran_ns >= _AWAY * (next_ns - start_ns))
        rows = np.flatnonzero(is_own & works & away & ~self._waits)
        none = np.full(len(rows), -1, np.int32)
        return Samples(**self._samples.take(rows).columns() | {"end_ns": next_ns[rows], "stack": none})

    def _others(self, thread: int) -> tuple[Int64, Int64]:
        """When other threads or child processes worked."""
        busy = self._samples.take((self._threads != thread) & ~self._still)
        ticks = self._trace.recording[ThreadActivity]
        ticks = ticks.take(
            ~stood_still(self._trace.recording, ticks.helpers_ns, ticks.end_ns - ticks.start_ns)
        )
        children = self._trace.children_ran or (np.empty(0, np.int64), np.empty(0, np.int64))
        return (
            np.concatenate([busy.start_ns, ticks.start_ns, children[0]]),
            np.concatenate([busy.end_ns, ticks.end_ns, children[1]]),
        )


def request_waits(trace: Trace) -> Mask:
    """Returns which stacks end in a function that waits for requests, or in what it calls."""
    stacks = trace.recording[Stacks]
    if trace.python is None:
        return np.zeros(len(stacks), np.bool_)
    named = np.append(_named(trace.recording), False)[stacks.frame]
    origin = np.append(trace.python.code.origin, np.int8(Origin.STDLIB))[trace.python.of_stack[:-1]]
    return np.asarray(nearest(stacks.parent, named) > nearest(stacks.parent, origin != Origin.STDLIB))


def own_waits(trace: Trace, samples: Samples) -> Mask:
    """Returns which samples found their thread waiting in a C function that a line of the program called.

    It waited for a message or for another thread. What the iterator of a `for` loop waits for is data.
    """
    stacks = trace.recording[Stacks]
    if trace.python is None:
        return np.zeros(len(samples), np.bool_)
    origin = np.append(trace.python.code.origin, np.int8(Origin.STDLIB))[trace.python.of_stack]
    is_own = (origin == Origin.USER) & np.append(stacks.asks_next != 1, False)
    return np.asarray(is_own[samples.stack] & _waits_in_kernel(samples))


def _waits_in_kernel(samples: Samples) -> Mask:
    """Returns which looks found their thread waiting for a message or for another thread."""
    return among(samples.waits_for, (WaitsFor.MESSAGE, WaitsFor.THREAD))


def _named(recording: Recording) -> Mask:
    strings, frames = recording[Strings], recording[Frames]
    found = np.zeros(len(frames), np.bool_)
    columns = (frames.file, frames.function)  # signatures make most of the texts
    all_files, all_functions = ({id_: strings[id_] for id_ in distinct(ids).tolist()} for ids in columns)
    for file, functions in _WAITS:
        files = [number for number, text in all_files.items() if text.endswith(file)]
        called = [at for at, text in all_functions.items() if bare(text).rpartition(".")[2] in functions]
        found |= among(frames.file, files) & among(frames.function, called)
    return found


def _longest(frame: Int32, time_ns: Int64) -> int:
    known = frame >= 0
    if not bool(known.any()):
        return -1
    return int(np.bincount(frame[known], time_ns[known]).argmax())


def _without(spans: Sequence[Span], idle: IdleTime) -> list[Span]:
    """The steps, each from the end of the wait for its request to the beginning of the next wait."""
    found = list(spans[:1])
    for span in spans[1:]:
        last_ns = max((event.end_ns for event in found[-1].events), default=found[-1].end_ns)
        first_ns = min((event.start_ns for event in span.events), default=span.start_ns)
        first = int(np.searchsorted(idle.start_ns, last_ns, "left"))
        behind = int(np.searchsorted(idle.end_ns, first_ns, "right"))
        if first < behind:
            found[-1] = found[-1]._replace(end_ns=int(idle.start_ns[first]))
            span = span._replace(start_ns=int(idle.end_ns[behind - 1]))  # noqa: PLW2901
        found.append(span)
    return found
