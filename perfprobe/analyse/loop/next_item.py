"""Where a loop gets its next item: in its `for` statement, or at a line that seems to make batches.

Recordings say which Python frames were asking the iterator of a `for` loop. What such a frame calls, and what
a C iterator does there, belongs to the iterator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.loop.events import Kind
from perfprobe.analyse.loop.loop_function import NOWHERE, LoopFunction
from perfprobe.analyse.loop.loops import ThreadLoop
from perfprobe.analyse.loop.paint import Looks
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


class Sampled(NamedTuple):
    """Samples of a thread, their stacks, and which of them are `own_waits`."""

    looks: Looks
    stack: Int32
    waited: Mask


class _StackTime(NamedTuple):
    """A stack, its time, and how much of that was `own_waits`."""

    stack: int
    time_ns: int
    waited_ns: int


class _Times(NamedTuple):
    """Times by line of the loop's function: in iterators of `for` loops, and in other calls."""

    asked_ns: Counter[int]
    called_ns: Counter[int]


def at_next(phase: Int8, is_next: Mask) -> Int8:
    """The phases, with what belongs to the next item as data unless it has a phase already."""
    return np.where(is_next & among(phase, _PLAIN), np.int8(StepPhase.DATA), phase).astype(np.int8)


def next_item(trace: Trace, loop: ThreadLoop, own: Segments, sampled: Sampled) -> NextItem:
    """The line of the loader's `next`, else the `for` loop's with most time in its iterator.

    Of nested loops and those before the model is called, that is the one which waits or makes batches. It may
    be in a caller of the loop's function: `for x in items: step(x)`. If a line before all of the body called
    Python or waited for longer, it is that: it may make the batch.

    Args:
        own: segments of the thread.
    """
    spans = [span for span in loop.spans if not span.is_evaluation]
    nexts = [loop.function.line(e.stack) for span in spans for e in span.events if e.kind is Kind.NEXT]
    if nexts:
        line = max(set(nexts), key=nexts.count)
        return NextItem(line, _below(trace, loop.function, line))
    found, most_ns = NextItem(NOWHERE, np.zeros(len(trace.recording[Stacks]), np.bool_)), 0
    by_stack = _by_stack(loop, own, sampled)
    for function in loop.function.outward():
        item, time_ns = _of_function(trace, loop, function, own, by_stack)
        if time_ns > most_ns:
            found, most_ns = item, time_ns
    return found


def _of_function(
    trace: Trace, loop: ThreadLoop, function: LoopFunction, own: Segments, by_stack: Sequence[_StackTime]
) -> tuple[NextItem, int]:
    """The next item as one function gets it, and its time in ns. Only the loop's own one tells its line."""
    asks = _asks(trace, loop, function)
    asked_ns, called_ns = _times(loop, function, own, by_stack, asks)
    asked, called = (max(each, key=each.__getitem__, default=NOWHERE) for each in (asked_ns, called_ns))
    line, is_next = asked, _below(trace, function, asked) & asks
    if called_ns[called] > asked_ns[asked]:
        line, is_next = called, is_next | _below(trace, function, called)
    line = line if function is loop.function else NOWHERE
    return NextItem(line, is_next), max(asked_ns[asked], called_ns[called])


def _asks(trace: Trace, loop: ThreadLoop, function: LoopFunction) -> Mask:
    """Returns which stacks are in the iterator of a `for` loop of this function.

    A generator that runs the loop itself is none.
    """
    stacks = trace.recording[Stacks]
    in_function = (stacks.parent == function.caller) & (stacks.asks_next == 1)
    in_function[list(loop.function.tree.path(loop.function.caller))] = False
    return np.asarray(nearest(stacks.parent, in_function) >= 0)


def _below(trace: Trace, function: LoopFunction, line: int) -> Mask:
    """Returns which stacks are called from this function at this line."""
    stacks = trace.recording[Stacks]
    marked = np.zeros(len(stacks), np.bool_)
    if line != NOWHERE:
        children = np.flatnonzero(stacks.parent == function.caller)
        at_line = [child for child in children.tolist() if function.tree.line(child) == line]
        marked[at_line] = True
    return np.asarray(nearest(stacks.parent, marked) >= 0)


def _times(
    loop: ThreadLoop, function: LoopFunction, own: Segments, by_stack: Sequence[_StackTime], asks: Mask
) -> _Times:
    """Times in steps, at lines before all of the body. The body may be on the line of the `for`.

    Without a call of Python, waiting looks like other work, if it is not known what the thread waited for. In
    callers of the loop's function, other calls may do anything.
    """
    found = _Times(Counter(), Counter())
    first = _first_line(loop, function, own, asks)
    for each in by_stack:
        line = function.line(each.stack)
        if line == NOWHERE:
            continue
        if asks[each.stack] and (line <= first or first == NOWHERE):
            found.asked_ns[line] += each.time_ns
        elif not asks[each.stack] and line < first:
            may_make = function is loop.function and function.child(each.stack) != each.stack
            found.called_ns[line] += each.time_ns if may_make else each.waited_ns
    return found


def _first_line(loop: ThreadLoop, function: LoopFunction, own: Segments, asks: Mask) -> int:
    """The first line of this function with an operator or an event of a step; `NOWHERE` without any."""
    inside = _in_steps(loop, own.start_ns) & (own.first >= 0)
    events = [e.stack for span in loop.spans if not span.is_evaluation for e in span.events if e.stack >= 0]
    seen = {*distinct(own.first[inside]).tolist(), *events}
    lines = [function.line(stack) for stack in seen if not asks[stack]]
    return min((line for line in lines if line != NOWHERE), default=NOWHERE)


def _by_stack(loop: ThreadLoop, own: Segments, sampled: Sampled) -> list[_StackTime]:
    """The stacks without a phase in steps: those of samples, or without any, of operators."""
    looks = sampled.looks
    if len(looks.time_ns):
        chosen = among(looks.phase, (StepPhase.OTHER, StepPhase.DATA)) & _in_steps(loop, looks.time_ns)
        time_ns = (looks.time_ns - looks.from_ns)[chosen]
        return _summed(sampled.stack[chosen], time_ns, time_ns * sampled.waited[chosen])
    chosen = among(own.phase, _PLAIN) & (own.first >= 0) & _in_steps(loop, own.start_ns)
    time_ns = (own.end_ns - own.start_ns)[chosen]
    return _summed(own.first[chosen], time_ns, np.zeros_like(time_ns))


def _summed(stack: Int32, time_ns: Int64, waited_ns: Int64) -> list[_StackTime]:
    stacks, at = np.unique(stack, return_inverse=True)
    sums = np.zeros((2, len(stacks)), np.int64)
    np.add.at(sums[0], at.reshape(-1), time_ns)
    np.add.at(sums[1], at.reshape(-1), waited_ns)
    return [_StackTime(*row) for row in zip(stacks.tolist(), *sums.tolist(), strict=True)]


def _in_steps(loop: ThreadLoop, time_ns: Int64) -> Mask:
    """Returns which times are in steps rather than in evaluations."""
    bounds = np.array([(s.start_ns, s.end_ns) for s in loop.spans if not s.is_evaluation], np.int64)
    bounds = bounds.reshape(-1, 2)
    return np.asarray(around(bounds[:, 0], bounds[:, 1], time_ns) >= 0)
