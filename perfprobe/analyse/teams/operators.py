"""Finds how many threads ran during each kind of operator, from the CPU clocks of all threads.

The clocks are read at the sampler's ticks. Only intervals between ticks that one kind of operator nearly
fills are used, because the time of others would have to be divided. A kind without such intervals is not
judged. Members of a team still spin for a while after a parallel part, so of long calls only what comes later
is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.between import outermost
from perfprobe.analyse.grouping import first_of_each, sort_by_keys
from perfprobe.analyse.teams.active import activity
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.intervals import overlaps
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.stacks import Frames
from perfprobe.tables.teams import BusiestLine, OperatorTeams
from perfprobe.tables.trace import Trace

_SHORTEST_NS = 50_000  # shorter calls never fill an interval, and a team gains nothing in them
_FILLED = 0.8  # an operator nearly fills an interval if it runs for at least this share of it
_FEWEST = 5  # kinds with fewer such intervals are not judged
_SPIN_NS = 15_000_000  # libgomp's threads spin at most about 10 ms for work, by default
_MILLION = 1_000_000


@frozen
class OperatorActivity:
    """How many threads ran in operators, and where operators ran.

    open_ns: between each two ticks, the time in outermost operators, summed over threads.
    busiest_lines: one for each thread.
    """

    operators: OperatorTeams
    open_ns: Int64
    busiest_lines: tuple[BusiestLine, ...]


class TeamWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._rows = activity(trace.recording)
        self._frames = len(trace.recording[Frames])
        self._open_ns = np.zeros(len(self._rows), np.float64)
        self._by_frame: dict[int, Int64] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._self_ns: dict[int, int] = {}
        self._parts: list[tuple[Int64, Int64]] = []

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        first = first_of_each(batch.thread)
        for start, end in zip(first, np.append(first[1:], len(batch)), strict=True):
            outer = start + outermost(batch.start_ns[start:end], batch.scope[start:end])
            if len(outer):
                self._add_open(batch, outer)
        if len(self._rows):
            long = np.flatnonzero(batch.end_ns - batch.start_ns >= _SHORTEST_NS)
            if len(long):
                self._add_long(batch.take(long))

    def _add_open(self, batch: LinkedOperators, outer: Rows) -> None:
        """Add time in outermost operators of one thread: by line, and by interval between ticks."""
        time_ns = batch.end_ns[outer] - batch.start_ns[outer]
        by_frame = self._by_frame.setdefault(
            int(batch.thread[outer[0]]), np.zeros(self._frames + 1, np.int64)
        )
        np.add.at(by_frame, batch.frame[outer], time_ns)  # -1 is the last entry
        if len(self._rows) == 0:
            return
        moments = np.column_stack((batch.start_ns[outer], batch.end_ns[outer])).ravel()
        passed = np.column_stack((np.cumsum(time_ns) - time_ns, np.cumsum(time_ns))).ravel()
        begun, ended = (np.interp(at, moments, passed) for at in (self._rows.start_ns, self._rows.end_ns))
        self._open_ns += ended - begun

    def _add_long(self, rows: LinkedOperators) -> None:
        """Add the time of each kind between ticks, without the time of long calls inside it."""
        kind = self._kinds(rows)
        parent = parents(rows.thread, rows.depth)
        of_parent = np.where(parent >= 0, kind[parent], -1)
        duration_ns = rows.end_ns - rows.start_ns
        began_ns = (rows.start_ns, rows.start_ns[parent])
        for kinds, sign, began in zip((kind, of_parent), (1, -1), began_ns, strict=True):
            chosen = np.flatnonzero(kinds >= 0)
            ticks = (self._rows.start_ns, self._rows.end_ns)
            tick, row, time_ns = overlaps(*ticks, rows.start_ns[chosen], rows.end_ns[chosen])
            is_late = self._rows.start_ns[tick] >= began[chosen][row] + _SPIN_NS
            self._parts.append(_added((tick * (1 << 32) + kinds[chosen][row]) * 2 + is_late, sign * time_ns))
            for each, sum_ns in zip(*_added(kinds[chosen], sign * duration_ns[chosen]), strict=True):
                self._self_ns[int(each)] = self._self_ns.get(int(each), 0) + int(sum_ns)

    def _kinds(self, rows: LinkedOperators) -> Int64:
        """The number of each row's kind, -1 for ranges."""
        keys: list[npt.NDArray[Any]] = [rows.name, rows.signature, rows.frame, rows.phase]
        order, first = sort_by_keys(keys)
        found = np.empty(len(rows), np.int64)
        ends = np.append(first[1:], len(rows))
        for at, end in zip(first.tolist(), ends.tolist(), strict=True):
            key = tuple(int(column[order[at]]) for column in keys)
            found[order[at:end]] = self._numbers.setdefault(key, len(self._numbers))
        return np.where(rows.scope == USER_SCOPE, -1, found)

    def result(self) -> OperatorActivity:
        """Returns how many threads ran in each kind of operator that fills enough intervals, and where."""
        return OperatorActivity(
            operators=self._operators(),
            open_ns=np.rint(self._open_ns).astype(np.int64),
            busiest_lines=tuple(
                _busiest_line(thread, by_frame) for thread, by_frame in self._by_frame.items()
            ),
        )

    def _operators(self) -> OperatorTeams:
        if not self._parts:
            return OperatorTeams.empty()
        codes, time_ns = _added(*(np.concatenate(each) for each in zip(*self._parts, strict=True)))
        pairs, both_ns = _added(codes >> 1, time_ns)
        late_ns = np.zeros(len(pairs), np.int64)
        late_ns[np.searchsorted(pairs, codes[codes % 2 == 1] >> 1)] = time_ns[codes % 2 == 1]
        tick, kind = pairs >> 32, pairs & 0xFFFFFFFF
        between_ns = (self._rows.end_ns - self._rows.start_ns)[tick]
        alone = self._open_ns[tick] <= (2 - _FILLED) * between_ns
        pure, late = (alone & (each >= _FILLED * between_ns) for each in (both_ns, late_ns))
        order, first = sort_by_keys([kind[pure]]) if bool(pure.any()) else (np.empty(0, np.intp),) * 2
        keys = list(self._numbers)
        found = [
            (
                *keys[int(kind[pure][rows[0]])],
                self._self_ns[int(kind[pure][rows[0]])],
                *self._ran(tick[pure][rows], late[pure][rows]),
            )
            for rows in np.split(order, first[1:])
            if len(rows) >= _FEWEST
        ]
        columns = zip(OperatorTeams.dtypes.items(), np.array(found, np.int64).reshape(-1, 10).T, strict=True)
        made = OperatorTeams(**{name: values.astype(dtype) for (name, dtype), values in columns})
        return made.take(np.argsort(-made.self_ns, kind="stable"))

    def _ran(self, tick: Rows, late: Mask) -> tuple[int, int, int, int, int]:
        """For these intervals: time in ns, count, mean callers and helpers, two standard errors (in ppm).

        late: those that no spinning from before the call reaches; if enough of them, only they count.
        """
        tick = tick[late] if int(late.sum()) >= _FEWEST else tick
        rows = self._rows.take(tick)
        time_ns = rows.end_ns - rows.start_ns
        whole_ns = int(time_ns.sum())
        both = (rows.callers_ns + rows.helpers_ns) / time_ns
        error = 2 * float(np.std(both, ddof=1)) / len(tick) ** 0.5
        means = [int(each.sum()) * _MILLION // whole_ns for each in (rows.callers_ns, rows.helpers_ns)]
        return whole_ns, len(tick), means[0], means[1], round(error * _MILLION)


def parents(thread: Int32, depth: Int32) -> Rows:
    """The row around each row, -1 none: the next one of its thread with a smaller depth."""
    found, depths = [-1] * len(depth), depth.tolist()
    first = first_of_each(thread)
    for start, end in zip(first.tolist(), [*first[1:].tolist(), len(thread)], strict=True):
        around: list[int] = []  # rows that end later, the innermost last
        for row in range(end - 1, start - 1, -1):
            while around and depths[around[-1]] >= depths[row]:
                around.pop()
            found[row] = around[-1] if around else -1
            around.append(row)
    return np.array(found, np.int64)


def _added(codes: Int64, values: Int64) -> tuple[Int64, Int64]:
    """The distinct codes, and the sum of the values of each."""
    if len(codes) == 0:
        return codes, values
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[first], np.add.reduceat(values[order], first)


def _busiest_line(thread: int, by_frame: Int64) -> BusiestLine:
    largest = int(by_frame[:-1].argmax()) if len(by_frame) > 1 else -1
    return BusiestLine(thread, int(by_frame.sum()), largest if largest >= 0 and by_frame[largest] > 0 else -1)
