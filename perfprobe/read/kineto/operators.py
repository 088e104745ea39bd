"""The operators of a trace, nested by their times, with the Python around them."""

from __future__ import annotations

from typing import Any

from perfprobe.models.nodes import ACCUMULATE, Call
from perfprobe.read.kineto.event import facts_of, number, small, span_ns, time_ns
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.rows import Rows
from perfprobe.read.kineto.signature import text_of
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION, USER_SCOPE

_BACKWARD = "autograd::engine::evaluate_function"
_RANGES = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")  # older traces have them as operators
_START, _END, _NAME, _SIGNATURE, _STACK, _SEQUENCE, _FORWARD, _SCOPE, _ORDER = range(9)


class OperatorReader:
    """Takes in operators, ranges, calls of Python and allocations; makes the rows at the end."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._threads: dict[int, list[tuple[int, ...]]] = {}
        self._python: dict[int, list[tuple[int, int, int]]] = {}
        self._allocations: dict[int, list[tuple[int, int]]] = {}
        self._inputs: dict[str, int] = {}
        self.operators = self.with_shapes = self.with_strides = self.with_call_stack = 0
        self.python_calls = self.allocations = 0
        self.steps = False

    def add_range(self, event: dict[str, Any]) -> bool:
        """The same as `add` with a range of the program's."""
        return self.add(event, is_range=True)

    def add(self, event: dict[str, Any], *, is_range: bool = False) -> bool:
        """Takes in an operator or a range of the program's; False where it has no time or thread."""
        span, thread = span_ns(event), self._names.thread(event.get("tid"))
        name = event.get("name")
        if span is None or thread < 0 or not isinstance(name, str):
            return False
        facts = facts_of(event)
        is_range = is_range or name.startswith(_RANGES)
        self.steps |= is_range and name.startswith("ProfilerStep#")
        scope = USER_SCOPE if is_range else FUNCTION
        sequence, forward = number(facts.get("Sequence number")), small(facts.get("Fwd thread id"))
        stack = self._stack(facts.get("Call stack"))
        self.operators += scope == FUNCTION
        self.with_call_stack += stack >= 0
        order = small(facts.get("External id", facts.get("external id")))
        row = (*span, self._names.text(name), self._signature(facts), stack, sequence, forward, scope, order)
        self._threads.setdefault(thread, []).append(row)
        return True

    def add_python(self, event: dict[str, Any]) -> bool:
        """Takes in a call of a Python function; calls of C code and of modules have no line."""
        span, thread = span_ns(event), self._names.thread(event.get("tid"))
        name = event.get("name")
        if span is None or thread < 0 or not isinstance(name, str):
            return False
        self.python_calls += 1
        self._python.setdefault(thread, []).append((*span, self._names.text(name)))
        return True

    def add_allocation(self, event: dict[str, Any]) -> None:
        """Takes in an allocation; one that frees has a size below 0."""
        at_ns, thread = time_ns(event.get("ts")), self._names.thread(event.get("tid"))
        size_bytes = facts_of(event).get("Bytes")
        if at_ns is not None and thread >= 0 and type(size_bytes) is int and abs(size_bytes) < 1 << 62:
            self.allocations += 1
            self._allocations.setdefault(thread, []).append((at_ns, size_bytes))

    def table(self) -> Operators:
        """All rows, each thread's in the order in which they ended, what is around another behind it."""
        self._find_forward_ids()
        parts = [
            _Thread(rows, self._around(thread), self._allocations.get(thread, []), self).table(thread)
            for thread, rows in self._threads.items()
        ]
        return Operators.concat(parts)

    def _find_forward_ids(self) -> None:
        """torch's number of each thread that called forward: that whose numbers its backward has."""
        called = {
            thread: {row[_SEQUENCE] for row in rows if row[_SEQUENCE] >= 0 and row[_FORWARD] <= 0}
            for thread, rows in self._threads.items()
        }
        wanted: dict[int, set[int]] = {}
        for rows in self._threads.values():
            for row in rows:
                if row[_FORWARD] > 0 and row[_SEQUENCE] >= 0:
                    wanted.setdefault(row[_FORWARD], set()).add(row[_SEQUENCE])
        for forward_id, numbers in wanted.items():
            shared = {thread: len(numbers & found) for thread, found in called.items()}
            best = max(shared, key=lambda thread: shared[thread])
            if shared[best]:
                self._names.set_forward_id(best, forward_id)

    def call(self, below: int, place: int) -> int:
        """The stack in a call of Python that was made from this one."""
        return self._names.call(below, self._names.name(place))

    def _around(self, thread: int) -> list[tuple[int, int, int]]:
        return sorted(self._python.get(thread, []), key=lambda call: (call[0], -call[1]))

    def text(self, name: int) -> str:
        """The operator's name."""
        return self._names.name(name)

    def _stack(self, text: Any) -> int:
        return self._names.call_stack(text) if isinstance(text, str) and text else -1

    def _signature(self, facts: dict[str, Any]) -> int:
        if "Input Dims" not in facts:
            return -1
        self.with_shapes += 1
        self.with_strides += "Input Strides" in facts
        told = [facts.get(key) for key in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")]
        key = str(told)
        found = self._inputs.get(key)
        if found is None:
            text = text_of(facts)
            row = -1 if text is None else self._names.text(text)
            found = -1 if row < 0 else self._names.signatures.row(row, -1, -1, 0, -1, -1)
            if len(self._inputs) < 1 << 17:
                self._inputs[key] = found
        return found


class _Thread:
    """Nests what ran on one thread."""

    def __init__(
        self,
        rows: list[tuple[int, ...]],
        python: list[tuple[int, int, int]],
        allocations: list[tuple[int, int]],
        reader: OperatorReader,
    ) -> None:
        self._rows = sorted(rows, key=lambda row: (row[_START], -row[_END], row[_ORDER]))
        self._python, self._reader = python, reader
        self._allocations = sorted(allocations)
        self._with_memory = reader.allocations > 0
        self._sizes = [[0, 0] for _ in rows] if self._with_memory else []
        self._calls: list[tuple[int, int]] = []  # open ones of Python: when each ends, its stack
        self._next_call = self._next_allocation = 0

    def table(self, thread: int) -> Operators:
        """The rows."""
        made = Rows(Operators)
        open_rows: list[int] = []
        calls = [self._call(row) for row in self._rows]
        stacks: list[int] = []
        ended: list[int] = []
        for at, row in enumerate(self._rows):
            self._allocate(open_rows, row[_START])
            while open_rows and _has_ended(self._rows[open_rows[-1]], row):
                ended.append(open_rows.pop())
            calls[at].enter(calls[open_rows[-1]] if open_rows else None, 0)
            stacks.append(self._stack_at(row))
            open_rows.append(at)
        self._allocate(open_rows, 1 << 62)
        ended += reversed(open_rows)
        for at in ended:
            self._add(made, at, calls[at], stacks[at], thread)
        return made.table()  # type: ignore[return-value]

    def _call(self, row: tuple[int, ...]) -> Call:
        name = self._reader.text(row[_NAME])
        is_node = row[_SCOPE] == FUNCTION and (row[_FORWARD] > 0 or name == ACCUMULATE)
        is_node &= not name.startswith(_BACKWARD)
        scope = BACKWARD_FUNCTION if is_node else row[_SCOPE]
        return Call(name, scope, row[_SEQUENCE], max(row[_FORWARD], 0))

    def _allocate(self, open_rows: list[int], until_ns: int) -> None:
        while self._next_allocation < len(self._allocations):
            at_ns, size_bytes = self._allocations[self._next_allocation]
            if at_ns >= until_ns:
                return
            self._next_allocation += 1
            around = next((at for at in reversed(open_rows) if self._rows[at][_END] >= at_ns), None)
            if around is not None:
                sizes = self._sizes[around]
                sizes[size_bytes < 0] = min(sizes[size_bytes < 0] + abs(size_bytes), 1 << 62)

    def _stack_at(self, row: tuple[int, ...]) -> int:
        """What the trace says itself, else the Python calls that were open."""
        if row[_STACK] >= 0:
            return row[_STACK]
        calls, start_ns = self._calls, row[_START]
        while self._next_call < len(self._python) and self._python[self._next_call][0] <= start_ns:
            begun_ns, end_ns, place = self._python[self._next_call]
            self._next_call += 1
            while calls and calls[-1][0] <= begun_ns:
                calls.pop()
            calls.append((end_ns, self._reader.call(calls[-1][1] if calls else -1, place)))
        while calls and calls[-1][0] <= start_ns:
            calls.pop()
        return calls[-1][1] if calls else -1

    def _add(self, made: Rows, at: int, call: Call, stack: int, thread: int) -> None:
        row = self._rows[at]
        sizes = self._sizes[at] if self._with_memory else (-1, -1)
        of_forward = call.forward_thread if call.is_node and call.forward_thread else -1
        made.add(
            *(row[_START], row[_END], call.depth, row[_NAME], -1, row[_SIGNATURE], stack, thread),
            *(call.scope, -1, -1, *sizes),
            *(call.sequence, of_forward, call.node.sequence, call.node.thread),
        )


def _has_ended(outer: tuple[int, ...], row: tuple[int, ...]) -> bool:
    """Whether an operator had ended before another began; of one that began and ended with it, not."""
    return row[_END] > outer[_END] or outer[_END] <= row[_START] < row[_END]
