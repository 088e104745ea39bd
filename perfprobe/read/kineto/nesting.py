"""Nests the operators of a thread, and finds the Python calls around each."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.models.nodes import ACCUMULATE, ENGINE, NOT_IN_BACKWARD, Call
from perfprobe.read.kineto.names import Names
from perfprobe.tables.columns import Int8, Int32, Int64, Mask
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION, USER_SCOPE

_BACKWARD = f"{ENGINE}evaluate_function"

WITHOUT_PYTHON = -2  # minus a stack: what an operator has where no Python is known
_NEVER_NS = 1 << 62
_BLOCK_ROWS = 65_536
NOT_IN_TRACES = ("overload", "cpu_ns", "faults")  # columns of `Operators`
_TAKEN = {"thread": np.int32, "start_ns": np.int64, "end_ns": np.int64, "name": np.int32}
_TAKEN |= {"signature": np.int32, "stack": np.int32, "sequence": np.int64, "forward_thread": np.int32}
_TAKEN |= {"scope": np.int8, "order": np.int32}


@dataclass(frozen=True)
class Taken:
    """Operators and ranges of one thread by start time. order: torch's own number of each."""

    start_ns: Int64
    end_ns: Int64
    name: Int32
    signature: Int32
    stack: Int32
    sequence: Int64
    forward_thread: Int32
    scope: Int8
    order: Int32

    @classmethod
    def none(cls) -> Taken:
        """No rows."""
        return cls(**{name: np.empty(0, kind) for name, kind in _TAKEN.items() if name != "thread"})

    def outside(self, time_ns: Int64) -> Mask:
        """Which of these times are in no operator; ranges do not count."""
        is_operator = self.scope != USER_SCOPE
        ended_ns = np.append(np.maximum.accumulate(self.end_ns[is_operator]), np.int64(-1))
        return ended_ns[np.searchsorted(self.start_ns[is_operator], time_ns, "right") - 1] < time_ns


class Unsorted:
    """Operators and ranges of all threads as they come."""

    def __init__(self) -> None:
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _TAKEN}

    def add(self, **columns: Int64) -> None:
        """Adds rows: those of `Taken`, and their threads, which are 0 or more."""
        for name, kind in _TAKEN.items():
            self._parts[name].append(columns[name].astype(kind))

    def by_thread(self) -> dict[int, Taken]:
        """Returns the rows of each thread, and forgets them. Memory never has a column twice for long."""
        keys = {name: self._joined(name) for name in ("order", "end_ns", "start_ns", "thread")}
        in_order = np.lexsort((keys["order"], -keys["end_ns"], keys["start_ns"], keys["thread"]))
        columns = {}
        for name in _TAKEN:
            columns[name] = (keys.pop(name) if name in keys else self._joined(name))[in_order]
        thread = columns.pop("thread")
        first = np.flatnonzero(np.append(True, thread[1:] != thread[:-1])[: len(thread)]).tolist()
        return {
            int(thread[begin]): Taken(**{name: column[begin:end] for name, column in columns.items()})
            for begin, end in pairwise([*first, len(thread)])
        }

    def _joined(self, name: str) -> npt.NDArray[Any]:
        parts, self._parts[name] = self._parts[name], []
        return np.concatenate([np.empty(0, _TAKEN[name]), *parts])


def rows_of(*columns: npt.NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Yields rows as Python values. They are made block by block, because they take much more memory."""
    for first in range(0, len(columns[0]), _BLOCK_ROWS):
        blocks = (column[first : first + _BLOCK_ROWS].tolist() for column in columns)
        yield from zip(*blocks, strict=True)


class NestedThread:
    """Nests the operators of one thread.

    Args:
        taken: the operators and ranges.
        python: the Python calls by start time: start, end, and the row of the name.
        allocations: times and bytes, sorted by time; None if the trace has none.
        calls_ns: when calls of CUDA outside of operators were made, sorted.

    Attributes:
        call_stacks: the stack of each of these calls, once `columns` has ended.
    """

    def __init__(
        self,
        taken: Taken,
        python: tuple[Int64, Int64, Int64],
        allocations: tuple[Int64, Int64] | None,
        names: Names,
        calls_ns: Int64,
    ) -> None:
        self._taken, self._names = taken, names
        self._calls_ns = array("q", [*calls_ns.tolist(), _NEVER_NS])
        self.call_stacks = array("q")
        self._allocations = allocations
        self._allocated_ns = array("q", () if allocations is None else allocations[0].tobytes())
        self._allocated_ns.append(_NEVER_NS)
        self._around = array("q")  # the operator of each allocation, -1 none
        self._open: list[int] = []
        self._open_ends: list[int] = []  # of these, negative, so that they ascend
        self._has_python = len(python[0]) > 0
        self._python = rows_of(*python)
        self._next_call = next(self._python, None)
        self._calls: list[tuple[int, int]] = []  # open Python calls: end, stack
        self._calls_of_nodes = self._special()
        self._nodes = [NOT_IN_BACKWARD]
        self._node = array("q")  # of each operator, its place in `_nodes`

    def columns(self, thread: int) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yields the columns of the operators, in the order in which they ended."""
        taken, open_rows, open_ends, around = self._taken, self._open, self._open_ends, self._around
        stacks, ended, depths = taken.stack.copy(), array("q"), array("q")
        # Where there are Python calls, a `Call stack` has the same lines without saying which kind they are.
        needs_stack = np.full(len(stacks), True) if self._has_python else (taken.stack < -1)
        rows = rows_of(taken.start_ns, taken.end_ns, needs_stack)
        for at, (start_ns, end_ns, needs) in enumerate(rows):
            if self._allocated_ns[len(around)] < start_ns:
                self._allocate(start_ns)
            if self._calls_ns[len(self.call_stacks)] <= start_ns:
                self._see_calls(start_ns)
            # The outer one ended before. Not if both begin and end together.
            while open_rows and (end_ns > (outer_ns := -open_ends[-1]) or outer_ns <= start_ns < end_ns):
                ended.append(open_rows.pop())
                open_ends.pop()
            self._enter(at, thread + 1)
            if needs:
                stacks[at] = self._python_or(int(stacks[at]), start_ns)
            depths.append(len(open_rows))
            open_rows.append(at)
            open_ends.append(-end_ns)
        self._allocate(_NEVER_NS)
        self._see_calls(_NEVER_NS - 1)
        self._stack_at(_NEVER_NS)  # for modules without operators
        ended.extend(reversed(open_rows))
        yield from self._columns(np.asarray(depths), stacks, np.asarray(ended), thread)

    def _special(self) -> dict[int, Call]:
        """Returns nodes of backward and what the engine has around them, by row: few of all operators."""
        taken, names = self._taken, self._names
        of_name = {row: names.name(row) for row in np.unique(taken.name).tolist()}
        is_named = np.zeros(max(of_name, default=0) + 1, bool)
        for row, name in of_name.items():
            is_named[row] = name == ACCUMULATE or name.startswith(_BACKWARD)
        rows = np.flatnonzero(is_named[taken.name] | ((taken.scope == FUNCTION) & (taken.forward_thread > 0)))
        columns = (taken.name, taken.scope, taken.sequence, taken.forward_thread)
        values = zip(rows.tolist(), *(column[rows].tolist() for column in columns), strict=True)
        return {at: _call(of_name[name], scope, *origin) for at, name, scope, *origin in values}

    def _enter(self, at: int, thread: int) -> None:
        """Finds the node of an operator: its own, or that of the operator around it."""
        nodes, around = self._node, self._open[-1] if self._open else -1
        call = self._calls_of_nodes.get(at)
        if call is None:
            nodes.append(nodes[around] if around >= 0 else 0)
            return
        parent = self._calls_of_nodes.get(around)
        call.enter(parent, thread)
        nodes.append(len(self._nodes))
        self._nodes.append(call.node)
        if parent is not None and parent.node == call.node:  # the engine's call now belongs to it
            nodes[around] = nodes[at]

    def _see_calls(self, until_ns: int) -> None:
        found = self.call_stacks
        while (at_ns := self._calls_ns[len(found)]) <= until_ns:
            found.append(self._stack_at(at_ns))

    def _allocate(self, until_ns: int) -> None:
        around = self._around
        while (at_ns := self._allocated_ns[len(around)]) < until_ns:
            place = bisect_right(self._open_ends, -at_ns)  # the outer ones end later
            around.append(self._open[place - 1] if place else -1)

    def _sizes(self, *, freed: bool) -> Int64:
        """Bytes that each operator itself allocated or freed, without those of inner operators."""
        if self._allocations is None:
            return np.broadcast_to(np.int64(-1), len(self._taken.end_ns))
        sizes, around = self._allocations[1], np.array(self._around, np.int64)
        counted = (around >= 0) & ((sizes < 0) == freed)
        summed = np.bincount(around[counted], np.abs(sizes[counted]), len(self._taken.end_ns))
        return np.minimum(summed, 1 << 62).astype(np.int64)

    def _python_or(self, stack: int, start_ns: int) -> int:
        """The Python calls that were open, else the stack that an operator has where there are none."""
        found = self._stack_at(start_ns) if self._has_python else -1
        return found if found >= 0 or stack == -1 else stack if stack >= 0 else WITHOUT_PYTHON - stack

    def _stack_at(self, start_ns: int) -> int:
        """Returns the stack of the Python calls that were open at this time."""
        calls = self._calls
        while self._next_call is not None and self._next_call[0] <= start_ns:
            begun_ns, end_ns, place = self._next_call
            self._next_call = next(self._python, None)
            while calls and calls[-1][0] <= begun_ns:
                calls.pop()
            below = calls[-1][1] if calls else -1
            calls.append((end_ns, self._names.entered(below, self._names.name(place))))
        while calls and calls[-1][0] <= start_ns:
            calls.pop()
        return calls[-1][1] if calls else -1

    def _columns(
        self, depths: Int64, stacks: Int32, rows: Int64, thread: int
    ) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        taken = self._taken
        yield from ((key, getattr(taken, key)[rows]) for key in ("start_ns", "end_ns", "name", "signature"))
        yield "depth", depths[rows]
        yield "stack", stacks[rows]
        yield "thread", np.broadcast_to(np.int64(thread), len(rows))
        for key, freed in (("allocated_bytes", False), ("freed_bytes", True)):
            yield key, self._sizes(freed=freed)[rows]
        scope, sequence = taken.scope.copy(), taken.sequence.copy()
        forward_thread = np.full(len(rows), -1, np.int32)
        for at, call in self._calls_of_nodes.items():
            scope[at], sequence[at] = call.scope, call.sequence
            forward_thread[at] = call.forward_thread if call.is_node and call.forward_thread else -1
        yield from (("scope", scope[rows]), ("sequence", sequence[rows]))
        yield "forward_thread", forward_thread[rows]
        nodes = np.array(self._nodes, np.int64)
        node = np.asarray(self._node)[rows]
        yield from (("node_sequence", nodes[node, 0]), ("node_thread", nodes[node, 1]))


def _call(name: str, scope: int, sequence: int, forward_thread: int) -> Call:
    is_node = scope == FUNCTION and (forward_thread > 0 or name == ACCUMULATE)
    is_node = is_node and not name.startswith(_BACKWARD)
    return Call(name, BACKWARD_FUNCTION if is_node else scope, sequence, max(forward_thread, 0))
