"""Time between operators: what the program's own Python, numpy, input and waiting take.

An interval reaches from the end of an outermost operator to the start of the next one on the same thread;
ranges are ignored. An operator that is still running when a batch of some 130,000 operators ends is not
known yet: the intervals within it are counted up to there.

Its place is what the stacks of both operators have in common: the innermost function of the user's that was
running before and after, and its lines. Stacks do not distinguish one call of a function from the next
one from the same line, so where the second line is not after the first, the function may also have
returned and been called again: its caller's line is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perfprobe.analyse.doing import SampledIntervals
from perfprobe.analyse.grouping import first_of_each, group_by_keys, sort_by_keys
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, Table
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Activities, Between, Intervals
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.trace import Trace

MOST_GROUPS = 262_144  # of all batches, before they are added up again
DEEPEST = 2048  # levels in which two stacks may differ

_NONE = np.int32(-1)  # an id of -1 reads this last entry of a column


class _Steps(Table):
    """Intervals with the same thread and stacks. before, after: the stacks of the operators around."""

    thread: Int32
    before: Int32
    after: Int32
    count: Int64
    total_ns: Int64
    longest_ns: Int64


@dataclass
class _Thread:
    """The last outermost operator of a thread so far, when its first one started, how long all took."""

    stack: int
    end_ns: int
    first_ns: int
    busy_ns: int = 0


class BetweenOperators:
    """Watches the operators of a trace, batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._threads: dict[int, _Thread] = {}
        self._parts: list[_Steps] = []
        self._gathered = 0
        self._sampled = SampledIntervals(trace)

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        first = first_of_each(batch.thread)
        for start, end in zip(first, np.append(first[1:], len(batch)), strict=True):
            rows = start + outermost(batch.start_ns[start:end], batch.scope[start:end])
            if len(rows):
                self._add_thread(
                    int(batch.thread[start]), batch.start_ns[rows], batch.end_ns[rows], batch.stack[rows]
                )
        if self._gathered > MOST_GROUPS:
            self._parts = [_merge(self._parts)]
            self._gathered = len(self._parts[0])

    def _add_thread(self, thread: int, start_ns: Int64, end_ns: Int64, stack: Int32) -> None:
        last = self._threads.get(thread)
        if last is None:  # no time passes from the first operator to itself
            last = self._threads[thread] = _Thread(int(stack[0]), int(start_ns[0]), int(start_ns[0]))
            chosen = slice(1, None)
        else:
            chosen = slice(None)
        left_ns = np.append(last.end_ns, end_ns[:-1])
        time_ns = np.maximum(start_ns - left_ns, 0)[chosen]
        before = np.append(np.int32(last.stack), stack[:-1])[chosen]
        if len(time_ns):
            ones = np.ones(len(time_ns), np.int64)
            steps = _Steps(
                np.full(len(time_ns), thread, np.int32), before, stack[chosen], ones, time_ns, time_ns
            )
            self._parts.append(_merge([steps]))
            self._gathered += len(self._parts[-1])
            self._sampled.add(thread, left_ns[chosen], start_ns[chosen], before, stack[chosen])
        last.stack, last.end_ns = int(stack[-1]), int(end_ns[-1])
        last.busy_ns += int((end_ns - start_ns).sum())

    def result(self) -> Between:
        """The intervals of the thread that spent most time in operators."""
        if not self._threads:
            return Between(Intervals.empty(), Activities.none(2), 0, None, None)
        busiest = max(self._threads, key=lambda thread: self._threads[thread].busy_ns)
        thread = self._threads[busiest]
        steps = _merge(self._parts)
        start_ns, end_ns = self._trace.start_ns, self._trace.end_ns
        rows = _intervals(self._trace, steps.take(steps.thread == busiest))
        return Between(
            rows=replace(rows, **self._activities(rows, busiest).columns()),
            outer=self._outer(busiest, thread),
            threads=len(self._threads),
            before_ns=None if start_ns is None else max(thread.first_ns - start_ns, 0),
            after_ns=None if end_ns is None else max(end_ns - thread.end_ns, 0),
        )

    def _activities(self, rows: Intervals, thread: int) -> Activities:
        """What was sampled in each of the rows, intervals of this thread."""
        before, after, samples = self._sampled.between(thread)
        frame, to_frame, _ = _places(self._trace, before, after)
        # One number for both lines: what is sampled lies in an interval that has a row.
        by_place = np.argsort(_pair(rows.frame, rows.to_frame))
        places = _pair(rows.frame, rows.to_frame)[by_place]
        group = by_place[np.searchsorted(places, _pair(frame, to_frame))]
        return self._sampled.activities(samples, group, len(rows))

    def _outer(self, thread: int, seen: _Thread) -> Activities:
        before, after = self._sampled.outside(thread, seen.first_ns, seen.end_ns)
        group = np.repeat(np.arange(2), [len(before), len(after)])
        return self._sampled.activities(np.append(before, after), group, 2)


def _pair(left: Int32, right: Int32) -> Int64:
    return (left.astype(np.int64) << 32) + right


def outermost(start_ns: Int64, scope: Int8) -> Rows:
    """The operators inside no other one: no later-ending operator had started by then."""
    operators = np.flatnonzero(scope != USER_SCOPE)
    start_ns = start_ns[operators]
    earliest_behind = np.minimum.accumulate(start_ns[::-1])[::-1]
    is_outermost = np.ones(len(operators), np.bool_)
    is_outermost[:-1] = start_ns[:-1] < earliest_behind[1:]
    return operators[is_outermost]


def _merge(parts: list[_Steps]) -> _Steps:
    rows = _Steps.concat(parts)
    if len(rows) == 0:
        return rows
    order, first = group_by_keys([rows.thread, rows.before, rows.after])
    return _Steps(
        thread=rows.thread[order[first]],
        before=rows.before[order[first]],
        after=rows.after[order[first]],
        count=np.add.reduceat(rows.count[order], first),
        total_ns=np.add.reduceat(rows.total_ns[order], first),
        longest_ns=np.maximum.reduceat(rows.longest_ns[order], first),
    )


def _intervals(trace: Trace, steps: _Steps) -> Intervals:
    """The intervals by the lines around them, most time first; the caller is that of the longest one."""
    if len(steps) == 0:
        return Intervals.empty()
    steps = steps.take(np.argsort(-steps.total_ns, kind="stable"))
    frame, to_frame, caller = _places(trace, steps.before, steps.after)
    order, first = sort_by_keys([frame, to_frame])
    found = Intervals(
        **Activities.none(len(first)).columns(),
        frame=frame[order[first]],
        to_frame=to_frame[order[first]],
        caller=caller[order[first]],
        count=np.add.reduceat(steps.count[order], first),
        total_ns=np.add.reduceat(steps.total_ns[order], first),
        longest_ns=np.maximum.reduceat(steps.longest_ns[order], first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))


def _places(trace: Trace, before: Int32, after: Int32) -> tuple[Int32, Int32, Int32]:
    """For each pair of stacks the function around both: its lines before and after, and its caller's."""
    parent = trace.recording[Stacks].parent
    own = _is_own(trace)
    shown = np.append(np.where(own, trace.sites.frame, _NONE), _NONE)
    user = np.append(nearest(parent, own), _NONE)
    common, left, right = _divergence(parent, before, after)
    moved = _is_same_call(trace, left, right) & (shown[left] >= 0) & (shown[right] >= 0)
    left = np.where(moved, left, user[common])
    right = np.where(moved, right, user[common])
    return shown[left], shown[right], shown[user[np.append(parent, _NONE)[left]]]


def _is_own(trace: Trace) -> Mask:
    """Which stacks end at the line that is shown for them, rather than in code called from there."""
    frames, shown, actual = trace.recording[Frames], trace.sites.frame, trace.recording[Stacks].frame
    same = (shown >= 0) & (actual >= 0)
    for column in (frames.file, frames.line, frames.function):
        same &= np.append(column, _NONE)[shown] == np.append(column, _NONE)[actual]
    return same


def _is_same_call(trace: Trace, left: Int32, right: Int32) -> Mask:
    """Which pairs of stacks, of the same caller, may be one call that moved on to another line."""
    frames, stacks = trace.recording[Frames], trace.recording[Stacks]
    same = (left >= 0) & (right >= 0)
    module = np.append(stacks.module, _NONE)
    same &= module[left] == module[right]
    frame = np.append(stacks.frame, _NONE)
    for column in (frames.file, frames.function, frames.first_line):
        of_stack = np.append(column, _NONE)[frame]
        same &= of_stack[left] == of_stack[right]
    return same


def _divergence(parent: Int32, before: Int32, after: Int32) -> tuple[Int32, Int32, Int32]:
    """The innermost stack that both of a pair begin with, and what comes next in each; -1 none."""
    ends = [before.copy(), after.copy()]
    below = [np.full(len(before), -1, np.int32) for _ in ends]
    apart = np.arange(len(before))
    for _ in range(2 * DEEPEST):
        apart = apart[ends[0][apart] != ends[1][apart]]
        if len(apart) == 0:
            break
        # A parent's id is less than its child's: the larger one of two cannot be above the other.
        left_is_lower = ends[0][apart] > ends[1][apart]
        for side, chosen in enumerate((apart[left_is_lower], apart[~left_is_lower])):
            below[side][chosen] = ends[side][chosen]
            ends[side][chosen] = parent[ends[side][chosen]]
    met = ends[0] == ends[1]
    common, left, right = (np.where(met, column, np.int32(-1)) for column in (ends[0], *below))
    return common, left, right
