"""Nests the operators of a thread, and finds the Python calls around each."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from perfprobe.models.nodes import ACCUMULATE, ENGINE, NOT_IN_BACKWARD, Call
from perfprobe.read.kineto.names import Names
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION

_BACKWARD = f"{ENGINE}evaluate_function"

WITHOUT_PYTHON = -2  # minus a stack: what an operator has where no Python is known
_NEVER_NS = 1 << 62


@dataclass(frozen=True)
class Taken:
    """Operators and ranges of one thread by start time. order: torch's own number of each."""

    start_ns: Int64
    end_ns: Int64
    name: Int64
    signature: Int64
    stack: Int64
    sequence: Int64
    forward_thread: Int64
    scope: Int64
    order: Int64

    @classmethod
    def sorted(cls, rows: array[int]) -> Taken:
        """Makes the columns of unsorted rows."""
        columns = np.frombuffer(rows, np.int64).reshape(-1, len(cls.__dataclass_fields__)).T
        start_ns, end_ns, order = columns[0], columns[1], columns[-1]
        in_order = np.lexsort((order, -end_ns, start_ns))
        return cls(*(column[in_order] for column in columns))


class NestedThread:
    """Nests the operators of one thread.

    Args:
        taken: the operators and ranges.
        python: the Python calls by start time: start, end, and the row of the name.
        allocations: times and bytes, sorted by time; None if the trace has none.
    """

    def __init__(
        self,
        taken: Taken,
        python: list[tuple[int, int, int]],
        allocations: tuple[Int64, Int64] | None,
        names: Names,
    ) -> None:
        self._taken, self._python, self._names = taken, python, names
        self._allocations = allocations
        self._allocated_ns = [_NEVER_NS] if allocations is None else [*allocations[0].tolist(), _NEVER_NS]
        self._around: list[int] = []  # the operator of each allocation, -1 none
        self._ends = taken.end_ns.tolist()
        self._open: list[int] = []
        self._calls: list[tuple[int, int]] = []  # open Python calls: end, stack
        self._next_call = 0
        self._calls_of_nodes = self._special()
        self._nodes = [NOT_IN_BACKWARD]
        self._node: list[int] = []  # of each operator, its place in `_nodes`

    def table(self, thread: int) -> Operators:
        """Returns the operators in the order in which they ended."""
        taken, open_rows, ends, around = self._taken, self._open, self._ends, self._around
        stacks, ended, depths = taken.stack.tolist(), [], []
        # Where there are Python calls, a `Call stack` has the same lines without saying which kind they are.
        needs_stack = np.full(len(stacks), True) if self._python else (taken.stack < -1)
        for at, (start_ns, end_ns, needs) in enumerate(
            zip(taken.start_ns.tolist(), ends, needs_stack.tolist(), strict=True)
        ):
            if self._allocated_ns[len(around)] < start_ns:
                self._allocate(start_ns)
            # The outer one ended before. Not if both begin and end together.
            while open_rows and (end_ns > (outer_ns := ends[open_rows[-1]]) or outer_ns <= start_ns < end_ns):
                ended.append(open_rows.pop())
            self._enter(at, thread + 1)
            if needs:
                stacks[at] = self._python_or(stacks[at], start_ns)
            depths.append(len(open_rows))
            open_rows.append(at)
        self._allocate(_NEVER_NS)
        self._stack_at(_NEVER_NS)  # for modules without operators
        ended += reversed(open_rows)
        return self._rows(depths, stacks, ended, thread)

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

    def _allocate(self, until_ns: int) -> None:
        ends, around = self._ends, self._around
        while (at_ns := self._allocated_ns[len(around)]) < until_ns:
            place = bisect_right(self._open, -at_ns, key=lambda at: -ends[at])  # the outer ones end later
            around.append(self._open[place - 1] if place else -1)

    def _sizes(self, *, freed: bool) -> Int64:
        """Bytes that each operator itself allocated or freed, without those of inner operators."""
        if self._allocations is None:
            return np.full(len(self._ends), -1, np.int64)
        sizes, around = self._allocations[1], np.array(self._around, np.int64)
        counted = (around >= 0) & ((sizes < 0) == freed)
        summed = np.bincount(around[counted], np.abs(sizes[counted]), len(self._ends))
        return np.minimum(summed, 1 << 62).astype(np.int64)

    def _python_or(self, stack: int, start_ns: int) -> int:
        """The Python calls that were open, else the stack that an operator has where there are none."""
        found = self._stack_at(start_ns) if self._python else -1
        return found if found >= 0 or stack == -1 else stack if stack >= 0 else WITHOUT_PYTHON - stack

    def _stack_at(self, start_ns: int) -> int:
        """Returns the stack of the Python calls that were open at this time."""
        calls = self._calls
        while self._next_call < len(self._python) and self._python[self._next_call][0] <= start_ns:
            begun_ns, end_ns, place = self._python[self._next_call]
            self._next_call += 1
            while calls and calls[-1][0] <= begun_ns:
                calls.pop()
            below = calls[-1][1] if calls else -1
            calls.append((end_ns, self._names.entered(below, self._names.name(place))))
        while calls and calls[-1][0] <= start_ns:
            calls.pop()
        return calls[-1][1] if calls else -1

    def _rows(self, depths: list[int], stacks: list[int], ended: list[int], thread: int) -> Operators:
        taken, rows = self._taken, np.array(ended, np.int64)
        nowhere = np.full(len(rows), -1, np.int64)
        scope, sequence, forward_thread = taken.scope.copy(), taken.sequence.copy(), nowhere.copy()
        for at, call in self._calls_of_nodes.items():
            scope[at], sequence[at] = call.scope, call.sequence
            forward_thread[at] = call.forward_thread if call.is_node and call.forward_thread else -1
        nodes = np.array(self._nodes, np.int64)[np.array(self._node, np.int64)]
        columns = {
            **{key: getattr(taken, key)[rows] for key in ("start_ns", "end_ns", "name", "signature")},
            "depth": np.array(depths, np.int64)[rows],
            "overload": nowhere,
            "stack": np.array(stacks, np.int64)[rows],
            "thread": np.full(len(rows), thread),
            "scope": scope[rows],
            "cpu_ns": nowhere,
            "faults": nowhere,
            "allocated_bytes": self._sizes(freed=False)[rows],
            "freed_bytes": self._sizes(freed=True)[rows],
            "sequence": sequence[rows],
            "forward_thread": forward_thread[rows],
            "node_sequence": nodes[rows, 0],
            "node_thread": nodes[rows, 1],
        }
        return Operators(**{key: columns[key].astype(kind) for key, kind in Operators.dtypes.items()})


def _call(name: str, scope: int, sequence: int, forward_thread: int) -> Call:
    is_node = scope == FUNCTION and (forward_thread > 0 or name == ACCUMULATE)
    is_node = is_node and not name.startswith(_BACKWARD)
    return Call(name, BACKWARD_FUNCTION if is_node else scope, sequence, max(forward_thread, 0))
