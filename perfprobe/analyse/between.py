"""Time between operators: spent in the program's own Python, in numpy, in input or waiting.

An interval begins where an outermost operator ends, and ends where the next one on the same thread starts;
ranges are ignored. Operators come in batches of about 130,000. One that still runs at the end of a batch is
only in a later batch, so the intervals between operators inside it are counted up to the end of the batch.

The place of an interval is the innermost user function that is on the stacks of both operators, with its
line before and its line after. Two calls of a function from the same line have the same stack, so if the
second line is not after the first, the function may also have returned and been called again. Therefore
the line of its caller is kept too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perfprobe.analyse.activities import SampledIntervals
from perfprobe.analyse.grouping import first_of_each, group_by_keys, sort_by_keys
from perfprobe.tables.between import Activities, Between, Intervals
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Rows, Table
from perfprobe.tables.events import LinkedOperators, OperatorWindows
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.trace import Trace

MOST_GROUPS = 262_144  # groups of intervals that are kept before equal ones are merged
DEEPEST = 2048  # levels in which two stacks may differ

_NONE = np.int32(-1)  # appended to a column, so that the id -1 reads -1


class _Groups(Table):
    """Intervals with the same thread and stacks. before, after: the stacks of the operators around."""

    thread: Int32
    before: Int32
    after: Int32
    count: Int64
    total_ns: Int64
    longest_ns: Int64


@dataclass
class _Thread:
    """A thread so far: stack and end of its last outermost operator, start of the first, time of all."""

    stack: int
    end_ns: int
    first_ns: int
    busy_ns: int = 0


class BetweenOperators:
    """Watches the operators of a trace, batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._threads: dict[int, _Thread] = {}
        self._parts: list[_Groups] = []
        self._gathered = 0
        self._sampled = SampledIntervals(trace)
        self._stopped_ns = np.sort(trace.recording[OperatorWindows].end_ns)

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
        if last is None:  # no interval ends at the thread's first operator
            last = self._threads[thread] = _Thread(int(stack[0]), int(start_ns[0]), int(start_ns[0]))
            first = 1
        else:
            first = 0
        left_ns = np.append(last.end_ns, end_ns[:-1])
        chosen = self._without_pauses(left_ns, start_ns)
        chosen = chosen[chosen >= first]
        time_ns = np.maximum(start_ns - left_ns, 0)[chosen]
        before = np.append(np.int32(last.stack), stack[:-1])[chosen]
        if len(time_ns):
            ones = np.ones(len(time_ns), np.int64)
            groups = _Groups(
                np.full(len(time_ns), thread, np.int32), before, stack[chosen], ones, time_ns, time_ns
            )
            self._parts.append(_merge([groups]))
            self._gathered += len(self._parts[-1])
            self._sampled.add(thread, left_ns[chosen], start_ns[chosen], before, stack[chosen])
        last.stack, last.end_ns = int(stack[-1]), int(end_ns[-1])
        last.busy_ns += int((end_ns - start_ns).sum())

    def _without_pauses(self, left_ns: Int64, right_ns: Int64) -> Rows:
        """The intervals in which operators were recorded all the time."""
        before, after = (np.searchsorted(self._stopped_ns, time_ns) for time_ns in (left_ns, right_ns))
        return np.flatnonzero(before >= after)

    def result(self) -> Between:
        """The intervals of the busiest thread."""
        if not self._threads:
            return Between(Intervals.empty(), Activities.none(2), 0, None, None)
        busiest = max(self._threads, key=lambda thread: self._threads[thread].busy_ns)
        thread = self._threads[busiest]
        groups = _merge(self._parts)
        start_ns, end_ns = self._trace.start_ns, self._trace.end_ns
        rows = _intervals(self._trace, groups.take(groups.thread == busiest))
        return Between(
            rows=replace(rows, **self._activities(rows, busiest).columns()),
            outer=self._outer(busiest, thread),
            threads=len(self._threads),
            before_ns=None if start_ns is None else max(thread.first_ns - start_ns, 0),
            after_ns=None if end_ns is None else max(end_ns - thread.end_ns, 0),
        )

    def _activities(self, rows: Intervals, thread: int) -> Activities:
        """Returns what samples of this thread show in each row of intervals."""
        before, after, samples = self._sampled.between(thread)
        frame, to_frame, _ = _places(self._trace, before, after)
        # One number for both lines. Every sample lies in an interval, so its pair of lines has a row.
        by_place = np.argsort(_pair(rows.frame, rows.to_frame))
        places = _pair(rows.frame, rows.to_frame)[by_place]
        group = by_place[np.searchsorted(places, _pair(frame, to_frame))]
        return self._sampled.activities(samples, group, len(rows))

    def _outer(self, thread: int, seen: _Thread) -> Activities:
        """Returns two rows: what samples show before the first operator of a thread and after its last."""
        before, after = self._sampled.outside(thread, seen.first_ns, seen.end_ns)
        group = np.repeat(np.arange(2), [len(before), len(after)])
        return self._sampled.activities(np.append(before, after), group, 2)


def _pair(left: Int32, right: Int32) -> Int64:
    return (left.astype(np.int64) << 32) + right


def outermost(start_ns: Int64, scope: Int8) -> Rows:
    """The rows of operators that are inside no other one. The rows must be of one thread, ordered by end.

    A row is inside another if a later row, which ends later, started at the same time or earlier.
    """
    operators = np.flatnonzero(scope != USER_SCOPE)
    start_ns = start_ns[operators]
    earliest_later = np.minimum.accumulate(start_ns[::-1])[::-1]
    is_outermost = np.ones(len(operators), np.bool_)
    is_outermost[:-1] = start_ns[:-1] < earliest_later[1:]
    return operators[is_outermost]


def _merge(parts: list[_Groups]) -> _Groups:
    rows = _Groups.concat(parts)
    if len(rows) == 0:
        return rows
    order, first = group_by_keys([rows.thread, rows.before, rows.after])
    return _Groups(
        thread=rows.thread[order[first]],
        before=rows.before[order[first]],
        after=rows.after[order[first]],
        count=np.add.reduceat(rows.count[order], first),
        total_ns=np.add.reduceat(rows.total_ns[order], first),
        longest_ns=np.maximum.reduceat(rows.longest_ns[order], first),
    )


def _intervals(trace: Trace, groups: _Groups) -> Intervals:
    """The groups by the lines around them, most time first; the caller is that of the largest group."""
    if len(groups) == 0:
        return Intervals.empty()
    groups = groups.take(np.argsort(-groups.total_ns, kind="stable"))
    frame, to_frame, caller = _places(trace, groups.before, groups.after)
    order, first = sort_by_keys([frame, to_frame])
    found = Intervals(
        **Activities.none(len(first)).columns(),
        frame=frame[order[first]],
        to_frame=to_frame[order[first]],
        caller=caller[order[first]],
        count=np.add.reduceat(groups.count[order], first),
        total_ns=np.add.reduceat(groups.total_ns[order], first),
        longest_ns=np.maximum.reduceat(groups.longest_ns[order], first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))


def _places(trace: Trace, before: Int32, after: Int32) -> tuple[Int32, Int32, Int32]:
    """For each pair of stacks, of the innermost function in both: line before, line after, caller's line.

    All three are rows of `Frames`, -1 for none.
    """
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
    """Returns which stacks end at the line shown for them. The others end in code that this line called."""
    frames, shown, actual = trace.recording[Frames], trace.sites.frame, trace.recording[Stacks].frame
    same = (shown >= 0) & (actual >= 0)
    for column in (frames.file, frames.line, frames.function):
        same &= np.append(column, _NONE)[shown] == np.append(column, _NONE)[actual]
    return same


def _is_same_call(trace: Trace, left: Int32, right: Int32) -> Mask:
    """Returns which pairs of stacks, with the same caller, may be one call that moved on to another line."""
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
    """For each pair of stacks their innermost common part, and the next stack towards each; -1 none."""
    ends = [before.copy(), after.copy()]
    below = [np.full(len(before), -1, np.int32) for _ in ends]
    apart = np.arange(len(before))
    for _ in range(2 * DEEPEST):
        apart = apart[ends[0][apart] != ends[1][apart]]
        if len(apart) == 0:
            break
        # A parent's id is less than its child's, so the larger of two ids is never an ancestor of the other.
        left_is_lower = ends[0][apart] > ends[1][apart]
        for side, chosen in enumerate((apart[left_is_lower], apart[~left_is_lower])):
            below[side][chosen] = ends[side][chosen]
            ends[side][chosen] = parent[ends[side][chosen]]
    met = ends[0] == ends[1]
    common, left, right = (np.where(met, column, np.int32(-1)) for column in (ends[0], *below))
    return common, left, right
