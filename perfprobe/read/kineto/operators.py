"""Collects the operators, Python calls and allocations of a trace, in any order."""

from __future__ import annotations

from array import array

import numpy as np

from perfprobe.models.message import message_text
from perfprobe.models.nodes import ENGINE
from perfprobe.read.kineto.arrows import Arrows
from perfprobe.read.kineto.event import NO_FACTS, Event, Facts, number, small, span_ns, time_ns
from perfprobe.read.kineto.generated import GeneratedKernels
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.nesting import WITHOUT_PYTHON, NestedThread, Taken
from perfprobe.read.kineto.signature import text_of
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import FUNCTION, USER_SCOPE

_RANGES = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")  # operators in older traces
_MOST_KNOWN = 1 << 17


class OperatorReader:
    """Collects operators, ranges, Python calls and allocations; `table` makes the rows."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._threads: dict[int, array[int]] = {}
        self._python: dict[int, list[tuple[int, int, int]]] = {}
        self._allocations: dict[int, array[int]] = {}
        self._inputs: dict[tuple[bytes, ...], int] = {}
        self.arrows = Arrows(names)
        self._has_sequences = False
        self.generated = GeneratedKernels(names)
        self.kernel_files = 0
        self._known: dict[tuple[str, bool], tuple[int, int, int]] = {}
        self.operators = self.with_shapes = self.with_strides = self.with_call_stack = 0
        self.python_calls = self.allocations = 0
        self.steps = False

    def add_range(self, event: Event) -> bool:
        """As `add`, for a range of the program."""
        return self.add(event, is_range=True)

    def add(self, event: Event, *, is_range: bool = False) -> bool:
        """Adds an operator or a range; returns False if it has no time or thread."""
        span, thread, name = span_ns(event), self._names.thread(event.tid), event.name
        if span is None or thread < 0 or not isinstance(name, str):
            return False
        facts = event.args or NO_FACTS
        stack = self._names.call_stack(facts.call_stack) if facts.call_stack else -1
        known = self._known.get((name, is_range)) if facts.kernel_file is None else None
        row, scope, frame = known or self._named(name, facts.kernel_file, is_range=is_range)
        self.operators += scope == FUNCTION
        self.with_call_stack += stack >= 0
        if stack < 0 <= frame:
            self.kernel_files += 1
            stack = WITHOUT_PYTHON - self._names.stacks.row(-1, frame, -1)
        order = facts.external if facts.external is not None else facts.external_again
        rows = self._threads.get(thread)
        if rows is None:
            rows = self._threads[thread] = array("q")
        signature = -1
        if facts.message_elements is not None:
            signature = self._message(facts)
        elif facts.dims:
            signature = self._signature(facts)
        sequence = -1 if facts.sequence is None else number(facts.sequence)
        self._has_sequences |= sequence >= 0
        forward = -1 if facts.forward_thread is None else small(facts.forward_thread)
        rows.extend((*span, row, signature, stack, sequence, forward, scope, small(order)))
        return True

    def _named(self, name: str, file: object, *, is_range: bool) -> tuple[int, int, int]:
        """Returns the row of an operator's name, its scope, and the frame of a generated kernel (or -1)."""
        if self._names_range(name) or is_range:
            found = self._names.text(name), USER_SCOPE, -1
        else:
            frame = self.generated.frame(name, file)
            found = self._names.text(self.generated.name(name, file)), FUNCTION, frame
        if file is None and len(self._known) < _MOST_KNOWN:
            self._known[name, is_range] = found
        return found

    def add_python(self, event: Event) -> bool:
        """Adds a Python call. Calls of C code and of modules have no line. False as for `add`."""
        span, thread, name = span_ns(event), self._names.thread(event.tid), event.name
        if span is None or thread < 0 or not isinstance(name, str):
            return False
        self.python_calls += 1
        self._python.setdefault(thread, []).append((*span, self._names.text(name)))
        return True

    def add_allocation(self, event: Event) -> None:
        """Adds an allocation. A negative size frees memory."""
        at_ns, thread = time_ns(event.ts), self._names.thread(event.tid)
        size_bytes = (event.args or NO_FACTS).allocated_bytes
        if at_ns is not None and thread >= 0 and type(size_bytes) is int and abs(size_bytes) < 1 << 62:
            self.allocations += 1
            self._allocations.setdefault(thread, array("q")).extend((at_ns, size_bytes))

    def table(self) -> Operators:
        """Returns all rows. Those of a thread are in the order in which they ended, outer after inner."""
        threads = {thread: Taken.sorted(rows) for thread, rows in self._threads.items()}
        self._threads.clear()
        if not self._has_sequences:
            self.arrows.number(threads)
        self._find_forward_ids(threads)
        parts = []
        for thread, taken in threads.items():
            nested = NestedThread(taken, self._around(thread), self._allocated(thread), self._names)
            parts.append(nested.table(thread))
        return Operators.concat(parts)

    @property
    def lacks_forward(self) -> bool:
        """Whether backward was recorded, and nothing ties it to its forward calls."""
        has_origin = self._has_sequences or self.arrows.used > 0
        return not has_origin and self._names.any_begins(ENGINE)

    def _allocated(self, thread: int) -> tuple[Int64, Int64] | None:
        """Returns times and sizes of a thread's allocations; None if the trace has no memory events."""
        if not self.allocations:
            return None
        at_ns, size_bytes = np.array(self._allocations.get(thread, []), np.int64).reshape(-1, 2).T
        in_order = np.lexsort((size_bytes, at_ns))
        return at_ns[in_order], size_bytes[in_order]

    def _find_forward_ids(self, threads: dict[int, Taken]) -> None:
        """Finds torch's number of each thread that called forward.

        Backward operators hold that number and the sequence numbers of their forward calls. The thread that
        has most of these sequence numbers is taken.
        """
        called = {
            thread: taken.sequence[(taken.sequence >= 0) & (taken.forward_thread <= 0)]
            for thread, taken in threads.items()
        }
        wanted: dict[int, set[int]] = {}
        for taken in threads.values():
            is_backward = (taken.forward_thread > 0) & (taken.sequence >= 0)
            for forward_id in np.unique(taken.forward_thread[is_backward]).tolist():
                numbers = taken.sequence[is_backward & (taken.forward_thread == forward_id)]
                wanted.setdefault(forward_id, set()).update(numbers.tolist())
        for forward_id, numbers in wanted.items():
            shared = {thread: len(numbers.intersection(found.tolist())) for thread, found in called.items()}
            best = max(shared, key=lambda thread: shared[thread])
            if shared[best]:
                self._names.set_forward_id(best, forward_id)

    def _around(self, thread: int) -> list[tuple[int, int, int]]:
        return sorted(self._python.get(thread, []), key=lambda call: (call[0], -call[1]))

    def _names_range(self, name: str) -> bool:
        self.steps |= name.startswith("ProfilerStep#")
        return name.startswith(_RANGES)

    def _message(self, facts: Facts) -> int:
        """Returns the row of the signature that a collective's message is written as."""
        text = message_text(facts.message_elements, facts.message_dtype, facts.group, facts.group_size)
        if text is None:
            return -1
        return self._names.signatures.row(self._names.text(text), -1, -1, 0, -1, -1)

    def _signature(self, facts: Facts) -> int:
        self.with_shapes += 1
        self.with_strides += bool(facts.strides)
        types = facts.types or facts.types_again
        key = (bytes(facts.dims), bytes(types), bytes(facts.strides), bytes(facts.values))
        found = self._inputs.get(key)
        if found is None:
            text = text_of(*key)
            row = -1 if text is None else self._names.text(text)
            found = -1 if row < 0 else self._names.signatures.row(row, -1, -1, 0, -1, -1)
            if len(self._inputs) < _MOST_KNOWN:
                self._inputs[key] = found
        return found
