"""Nests the operators of a thread, and finds the Python calls around each."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from perfprobe.models.nodes import ACCUMULATE, ENGINE, Call
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
        self._allocated_ns = [] if allocations is None else [*allocations[0].tolist(), _NEVER_NS]
        self._around: list[int] = []  # the operator of each allocation, -1 none
        self._ends = taken.end_ns.tolist()
        self._open: list[int] = []
        self._calls: list[tuple[int, int]] = []  # open Python calls: end, stack
        self._next_call = 0

    def table(self, thread: int) -> Operators:
        """Returns the operators in the order in which they ended."""
        taken, open_rows = self._taken, self._open
        calls = self._called()
        stacks, ended = taken.stack.tolist(), []
        allocated_ns = self._allocated_ns
        for at, (start_ns, end_ns) in enumerate(zip(taken.start_ns.tolist(), self._ends, strict=True)):
            if allocated_ns and allocated_ns[len(self._around)] < start_ns:
                self._allocate(start_ns)
            while open_rows and _has_ended(self._ends[open_rows[-1]], start_ns, end_ns):
                ended.append(open_rows.pop())
            calls[at].enter(calls[open_rows[-1]] if open_rows else None, thread + 1)
            if stacks[at] < 0:
                stacks[at] = self._python_or(stacks[at], start_ns)
            open_rows.append(at)
        self._allocate(_NEVER_NS)
        ended += reversed(open_rows)
        return self._rows(calls, stacks, ended, thread)

    def _called(self) -> list[Call]:
        taken, names = self._taken, self._names
        rows = zip(
            *(column.tolist() for column in (taken.name, taken.scope, taken.sequence, taken.forward_thread)),
            strict=True,
        )
        return [_call(names.name(name), scope, *origin) for name, scope, *origin in rows]

    def _allocate(self, until_ns: int) -> None:
        while self._allocated_ns and (at_ns := self._allocated_ns[len(self._around)]) < until_ns:
            self._around.append(next((at for at in reversed(self._open) if self._ends[at] >= at_ns), -1))

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
        return found if found >= 0 or stack == -1 else WITHOUT_PYTHON - stack

    def _stack_at(self, start_ns: int) -> int:
        """Returns the stack of the Python calls that were open at this time."""
        calls = self._calls
        while self._next_call < len(self._python) and self._python[self._next_call][0] <= start_ns:
            begun_ns, end_ns, place = self._python[self._next_call]
            self._next_call += 1
            while calls and calls[-1][0] <= begun_ns:
                calls.pop()
            below = calls[-1][1] if calls else -1
            calls.append((end_ns, self._names.call(below, self._names.name(place))))
        while calls and calls[-1][0] <= start_ns:
            calls.pop()
        return calls[-1][1] if calls else -1

    def _rows(self, calls: list[Call], stacks: list[int], ended: list[int], thread: int) -> Operators:
        taken, rows = self._taken, np.array(ended, np.int64)
        nowhere = np.full(len(rows), -1, np.int64)
        is_named = [call.is_node and call.forward_thread for call in calls]
        columns = {
            **{key: getattr(taken, key)[rows] for key in ("start_ns", "end_ns", "name", "signature")},
            "depth": np.array([call.depth for call in calls])[rows],
            "overload": nowhere,
            "stack": np.array(stacks)[rows],
            "thread": np.full(len(rows), thread),
            "scope": np.array([call.scope for call in calls])[rows],
            "cpu_ns": nowhere,
            "faults": nowhere,
            "allocated_bytes": self._sizes(freed=False)[rows],
            "freed_bytes": self._sizes(freed=True)[rows],
            "sequence": np.array([call.sequence for call in calls])[rows],
            "forward_thread": np.where(is_named, [call.forward_thread for call in calls], -1)[rows],
            "node_sequence": np.array([call.node.sequence for call in calls])[rows],
            "node_thread": np.array([call.node.thread for call in calls])[rows],
        }
        return Operators(**{key: columns[key].astype(kind) for key, kind in Operators.dtypes.items()})


def _call(name: str, scope: int, sequence: int, forward_thread: int) -> Call:
    is_node = scope == FUNCTION and (forward_thread > 0 or name == ACCUMULATE)
    is_node = is_node and not name.startswith(_BACKWARD)
    return Call(name, BACKWARD_FUNCTION if is_node else scope, sequence, max(forward_thread, 0))


def _has_ended(outer_end_ns: int, start_ns: int, end_ns: int) -> bool:
    """Whether an outer operator ended before an inner one began. Not if both begin and end together."""
    return end_ns > outer_end_ns or outer_end_ns <= start_ns < end_ns
