"""Where a loop gets its next item: in its `for` statement, or at a line that seems to make batches.

Recordings say which Python frames were asking the iterator of a `for` loop. What such a frame calls, and what
a C iterator does there, belongs to the iterator.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.loop.events import Kind
from perfprobe.analyse.loop.loops import ThreadLoop
from perfprobe.analyse.loop.paint import Looks
from perfprobe.analyse.loop.place import NOWHERE
from perfprobe.analyse.loop.timeline import Segments
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, among, distinct
from perfprobe.tables.intervals import around
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.trace import Trace

_PLAIN = (StepPhase.OTHER, StepPhase.COPY, StepPhase.RESULTS)


class NextItem(NamedTuple):
    """Where a loop gets its next item. line: -1 unknown. is_next: which stacks are part of it."""

    line: int
    is_next: Mask


class _Times(NamedTuple):
    """Times by line of the loop's function: in iterators of `for` loops, and in other calls of Python."""

    asked_ns: Counter[int]
    called_ns: Counter[int]


def at_next(phase: Int8, is_next: Mask) -> Int8:
    """The phases, with what belongs to the next item as data unless it has a phase already."""
    return np.where(is_next & among(phase, _PLAIN), np.int8(StepPhase.DATA), phase).astype(np.int8)


def next_item(trace: Trace, loop: ThreadLoop, own: Segments, looks: Looks, stack: Int32) -> NextItem:
    """The line of the loader's `next`, else the `for` loop's with most time in its iterator.

    Of nested loops and those before the model is called, that is the one which waits or makes batches. If
    a call of Python before all of the body took longer, it is that, because it may make the batch.

    Args:
        own: segments of the thread.
        looks, stack: samples of the thread.
    """
    spans = [span for span in loop.spans if not span.is_evaluation]
    nexts = [loop.place.line(e.stack) for span in spans for e in span.events if e.kind is Kind.NEXT]
    if nexts:
        line = max(set(nexts), key=nexts.count)
        return NextItem(line, _below(trace, loop, line))
    asks = _asks(trace, loop)
    asked_ns, called_ns = _times(loop, own, (looks, stack), asks)
    asked, called = (max(each, key=each.__getitem__, default=NOWHERE) for each in (asked_ns, called_ns))
    is_next = _below(trace, loop, asked) & asks
    if called_ns[called] > asked_ns[asked]:
        return NextItem(called, is_next | _below(trace, loop, called))
    return NextItem(asked, is_next)


def _asks(trace: Trace, loop: ThreadLoop) -> Mask:
    """Returns which stacks are in the iterator of a `for` loop of the loop's function."""
    stacks = trace.recording[Stacks]
    in_function = (stacks.parent == loop.place.caller) & (stacks.asks_next == 1)
    return np.asarray(nearest(stacks.parent, in_function) >= 0)


def _below(trace: Trace, loop: ThreadLoop, line: int) -> Mask:
    """Returns which stacks are called from the loop's function at this line."""
    stacks = trace.recording[Stacks]
    marked = np.zeros(len(stacks), np.bool_)
    if line != NOWHERE:
        children = np.flatnonzero(stacks.parent == loop.place.caller)
        at_line = [child for child in children.tolist() if loop.place.tree.line(child) == line]
        marked[at_line] = True
    return np.asarray(nearest(stacks.parent, marked) >= 0)


def _times(loop: ThreadLoop, own: Segments, sampled: tuple[Looks, Int32], asks: Mask) -> _Times:
    """Times in steps, at lines before all of the body. The body may be on the line of the `for`."""
    found = _Times(Counter(), Counter())
    first = _first_line(loop, own, asks)
    for each, time_ns in _by_stack(loop, own, *sampled):
        line = loop.place.line(each)
        if line == NOWHERE:
            continue
        if asks[each] and (line <= first or first == NOWHERE):
            found.asked_ns[line] += time_ns
        elif not asks[each] and line < first and loop.place.child(each) != each:
            found.called_ns[line] += time_ns  # without a call of Python, waiting looks like other work
    return found


def _first_line(loop: ThreadLoop, own: Segments, asks: Mask) -> int:
    """The first line of the loop's function with an operator or an event of a step; `NOWHERE` without any."""
    inside = _in_steps(loop, own.start_ns) & (own.first >= 0)
    events = [e.stack for span in loop.spans if not span.is_evaluation for e in span.events if e.stack >= 0]
    seen = {*distinct(own.first[inside]).tolist(), *events}
    lines = [loop.place.line(stack) for stack in seen if not asks[stack]]
    return min((line for line in lines if line != NOWHERE), default=NOWHERE)


def _by_stack(loop: ThreadLoop, own: Segments, looks: Looks, stack: Int32) -> list[tuple[int, int]]:
    """The time of stacks without a phase in steps: of samples, or without any, of operators."""
    if len(looks.time_ns):
        chosen = among(looks.phase, (StepPhase.OTHER, StepPhase.DATA)) & _in_steps(loop, looks.time_ns)
        return _summed(stack[chosen], (looks.time_ns - looks.from_ns)[chosen])
    chosen = among(own.phase, _PLAIN) & (own.first >= 0) & _in_steps(loop, own.start_ns)
    return _summed(own.first[chosen], (own.end_ns - own.start_ns)[chosen])


def _summed(stack: Int32, time_ns: Int64) -> list[tuple[int, int]]:
    stacks, at = np.unique(stack, return_inverse=True)
    sums = np.zeros(len(stacks), np.int64)
    np.add.at(sums, at.reshape(-1), time_ns)
    return list(zip(stacks.tolist(), sums.tolist(), strict=True))


def _in_steps(loop: ThreadLoop, time_ns: Int64) -> Mask:
    """Returns which times are in steps rather than in evaluations."""
    bounds = np.array([(s.start_ns, s.end_ns) for s in loop.spans if not s.is_evaluation], np.int64)
    return np.asarray(around(bounds[:, 0], bounds[:, 1], time_ns) >= 0)
