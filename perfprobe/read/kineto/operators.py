"""Collects the operators, Python calls and allocations of a trace, in any order."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perfprobe.models.message import message_text
from perfprobe.models.nodes import ENGINE
from perfprobe.read.kineto.arrows import Arrows
from perfprobe.read.kineto.event import Events, grouped
from perfprobe.read.kineto.generated import GeneratedKernels
from perfprobe.read.kineto.memory import MemoryReader
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.nesting import NOT_IN_TRACES, WITHOUT_PYTHON, NestedThread, Taken, Unsorted
from perfprobe.read.kineto.signature import text_of
from perfprobe.support.first_line import AT_START
from perfprobe.tables.columns import Int64, Rows, distinct
from perfprobe.tables.events import Operators
from perfprobe.tables.scopes import FUNCTION, USER_SCOPE
from perfprobe.tables.threads import each_thread

_RANGES = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")  # operators in older traces
_MOST_NAMES = 1 << 12  # names whose rows are remembered; those of others are found again
_MOST_INPUTS = 1 << 16  # likewise
_MOST_OPEN = 1000  # Python calls within each other
_MOST_FORWARD = 64  # threads that called forward
_PROFILER = ("torch/profiler/profiler.py(", "torch/autograd/profiler.py(")


class Calls(NamedTuple):
    """Calls of CUDA. stack: their Python stacks, -1 where not known."""

    thread: Int64
    time_ns: Int64
    stack: Int64

    def outside(self, thread: int, taken: Taken) -> Rows:
        """The rows of a thread that are in none of its operators, by time."""
        rows = np.flatnonzero(self.thread == thread)
        rows = rows[taken.outside(self.time_ns[rows])]
        return rows[np.argsort(self.time_ns[rows], kind="stable")]


class OperatorReader:
    """Collects operators, ranges, Python calls and allocations; `table` makes the rows."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._unsorted = Unsorted()
        self._python: dict[int, array[int]] = {}
        self.memory = MemoryReader(names)
        self._inputs: dict[tuple[bytes, ...], int] = {}
        self.arrows = Arrows(names)
        self._has_sequences = False
        self.generated = GeneratedKernels(names)
        self.kernel_files = 0
        self._known: dict[tuple[str, bool], tuple[int, int, int]] = {}
        self.operators = self.with_shapes = self.with_strides = self.with_call_stack = 0
        self.python_calls = 0
        self.steps = False

    def add_ranges(self, events: Events) -> int:
        """Like `add`, for ranges of the program."""
        return self.add(events, are_ranges=True)

    def add(self, events: Events, *, are_ranges: bool = False) -> int:
        """Adds operators or ranges; returns how many had times, a thread and a name."""
        events, start_ns, end_ns, thread = self._usable(events)
        group, known = events.groups("name", "kernel_file")
        named = [self._named(*map(events.value, codes), is_range=are_ranges) for codes in known]
        row, scope, frame = np.array(named, np.int64).reshape(-1, 3)[group].T
        self.operators += int(np.count_nonzero(scope == FUNCTION))
        sequence = events.numbers("sequence")
        self._has_sequences |= bool((sequence >= 0).any())
        times: dict[str, Int64] = {"start_ns": start_ns, "end_ns": end_ns}
        texts = {"name": row, "signature": self._signatures(events), "stack": self._stacks(events, frame)}
        numbers = {"forward_thread": events.smalls("forward_thread"), "order": _external(events)}
        self._unsorted.add(thread=thread, scope=scope, sequence=sequence, **times, **texts, **numbers)
        return len(events)

    def _usable(self, events: Events) -> tuple[Events, Int64, Int64, Int64]:
        """Returns the events that have times, a thread and a name; their starts, ends and threads."""
        start_ns, end_ns, usable = events.spans()
        thread = events.each("tid", self._names.thread)
        usable &= (thread >= 0) & (events.each("name", lambda name: isinstance(name, str)) > 0)
        return events.take(usable), start_ns[usable], end_ns[usable], thread[usable]

    def _stacks(self, events: Events, frame: Int64) -> Int64:
        """Returns the stack of each operator. frame: of the file of a generated kernel, -1 for others."""
        stack = np.full(len(events), -1, np.int64)
        has_stack = events.has("call_stack")
        if bool(has_stack.any()):
            group, known = events.take(has_stack).groups("call_stack")
            stack[has_stack] = np.array(
                [self._names.call_stack(events.raw(code)) for (code,) in known], np.int64
            )[group]
        self.with_call_stack += int(np.count_nonzero(stack >= 0))
        own = (stack < 0) & (frame >= 0)
        self.kernel_files += int(np.count_nonzero(own))
        frames = distinct(frame[own])
        rows = np.array([self._names.stacks.row(-1, each, -1, -1) for each in frames.tolist()], np.int64)
        stack[own] = WITHOUT_PYTHON - rows[np.searchsorted(frames, frame[own])]
        return stack

    def _named(self, name: str, file: Any, *, is_range: bool) -> tuple[int, int, int]:
        """Returns the row of an operator's name, its scope, and the frame of a generated kernel (or -1)."""
        known = self._known.get((name, is_range)) if file is None else None
        if known is not None:
            return known
        if self._names_range(name) or is_range:
            found = self._names.text(name), USER_SCOPE, -1
        else:
            frame = self.generated.frame(name, file)
            found = self._names.text(self.generated.name(name, file)), FUNCTION, frame
        if file is None and len(self._known) < _MOST_NAMES:
            self._known[name, is_range] = found
        return found

    def add_python(self, events: Events) -> int:
        """Adds Python calls. Calls of C code and of modules have no line. Returns as `add`."""
        events, start_ns, end_ns, thread = self._usable(events)
        columns = (start_ns, end_ns, events.each("name", self._names.text))
        for number, own in _each(thread):
            rows = self._python.setdefault(number, array("q"))
            rows.frombytes(np.stack([column[own] for column in columns], axis=1).tobytes())
        self.python_calls += len(events)
        return len(events)

    def table(self, calls: Calls) -> Operators:
        """Returns all rows. Those of a thread are in the order in which they ended, outer after inner.

        calls: of CUDA; those outside of operators get their stacks.
        """
        threads = self._unsorted.by_thread()
        if not self._has_sequences:
            self.arrows.number(threads)
        self._find_forward_ids(threads)
        rows = sum(len(taken.start_ns) for taken in threads.values())
        made = {name: np.empty(rows, kind) for name, kind in Operators.dtypes.items()}
        made |= {name: np.broadcast_to(made[name].dtype.type(-1), rows) for name in NOT_IN_TRACES}
        at = 0
        threads |= {thread: Taken.none() for thread in self._python if thread not in threads}
        for thread, taken in threads.items():
            own = calls.outside(thread, taken) if thread in self._python else None
            around, memory = self._around(thread), self.memory.of_thread(thread)
            calls_ns = np.empty(0, np.int64) if own is None else calls.time_ns[own]
            nested = NestedThread(taken, around, memory, self._names, calls_ns)
            for name, column in nested.columns(thread):
                made[name][at : at + len(column)] = column
            at += len(taken.start_ns)
            if own is not None:
                calls.stack[own] = nested.call_stacks
        return Operators(**made).compact()

    @property
    def lacks_forward(self) -> bool:
        """Whether backward was recorded, and nothing ties it to its forward calls."""
        has_origin = self._has_sequences or self.arrows.used > 0
        return not has_origin and self._names.any_begins(ENGINE)

    def _find_forward_ids(self, threads: dict[int, Taken]) -> None:
        """Finds torch's number of each thread that called forward.

        Backward operators hold that number and the sequence numbers of their forward calls. The thread that
        has most of these sequence numbers is taken.
        """
        has_number = [taken.sequence >= 0 for taken in threads.values()]
        if not has_number:
            return
        own = np.repeat(list(threads), [np.count_nonzero(has) for has in has_number])
        both = zip(threads.values(), has_number, strict=True)
        numbered = [(taken.sequence[has], taken.forward_thread[has]) for taken, has in both]
        sequence, forward_thread = map(np.concatenate, zip(*numbered, strict=True))
        is_backward = forward_thread > 0
        thread, called = _pairs(own[~is_backward], sequence[~is_backward])
        forward_id, wanted = _pairs(forward_thread[is_backward], sequence[is_backward])
        for each, rows in each_thread(forward_id)[:_MOST_FORWARD]:
            numbers = wanted[rows]
            place = np.minimum(np.searchsorted(numbers, called), len(numbers) - 1)
            shared = np.bincount(thread[numbers[place] == called], minlength=1)
            if shared.max():
                self._names.set_forward_id(int(shared.argmax()), each)

    def _around(self, thread: int) -> tuple[Int64, Int64, Int64]:
        columns = np.frombuffer(self._python.pop(thread, array("q")), np.int64).reshape(-1, 3).T
        order = np.lexsort((-columns[1], columns[0]))
        start_ns, end_ns, place = (column[order] for column in columns)
        first = zip(*(column[:_MOST_OPEN].tolist() for column in (start_ns, end_ns, place)), strict=True)
        for at in range(begun_before(list(first), self._names)):
            place[at] = self._names.text(f"{self._names.name(int(place[at]))}{AT_START}")
        return start_ns, end_ns, place

    def _names_range(self, name: str) -> bool:
        self.steps |= name.startswith("ProfilerStep#")
        return name.startswith(_RANGES)

    def _signatures(self, events: Events) -> Int64:
        """Returns the row of each operator's signature, -1 for none."""
        found = np.full(len(events), -1, np.int64)
        messages, inputs = events.has("message_elements"), events.has("dims")
        inputs &= ~messages
        if bool(messages.any()):
            sent = events.take(messages)
            group, known = sent.groups("message_elements", "message_dtype", "group", "group_size")
            found[messages] = np.array([self._message(*map(sent.value, codes)) for codes in known], np.int64)[
                group
            ]
        if bool(inputs.any()):
            shaped = events.take(inputs)
            self.with_shapes += len(shaped)
            self.with_strides += int(np.count_nonzero(shaped.has("strides")))
            types = np.where(shaped.has("types"), shaped.codes("types"), shaped.codes("types_again"))
            others = (shaped.codes(name) for name in ("dims", "strides", "values"))
            group, known = grouped([types, *others])
            found[inputs] = np.array([self._signature(*map(shaped.raw, codes)) for codes in known], np.int64)[
                group
            ]
        return found

    def _message(self, elements: Any, dtype: Any, group: Any, group_size: Any) -> int:
        """Returns the row of the signature that a collective's message is written as."""
        text = message_text(elements, dtype, group, group_size)
        if text is None:
            return -1
        return self._names.signatures.row(self._names.text(text), -1, -1, 0, -1, -1)

    def _signature(self, types: bytes, dims: bytes, strides: bytes, values: bytes) -> int:
        key = dims, types, strides, values
        found = self._inputs.get(key)
        if found is None:
            text = text_of(*key)
            row = -1 if text is None else self._names.text(text)
            found = -1 if row < 0 else self._names.signatures.row(row, -1, -1, 0, -1, -1)
            if len(self._inputs) < _MOST_INPUTS:
                self._inputs[key] = found
        return found


def begun_before(calls: list[tuple[int, int, int]], names: Names) -> int:
    """Returns how many of the first calls had begun before recording did: those that called the profiler.

    The trace has the line at which each was then, in place of its first line.

    Args:
        calls: the Python calls of a thread by start: start, end, and the row of the name.
    """
    last_ns = calls[0][1] if calls else 0
    for at, (_, end_ns, place) in enumerate(calls):
        if end_ns > last_ns:
            return 0
        last_ns = end_ns
        if names.name(place).rpartition("site-packages/")[2].startswith(_PROFILER):
            return at
    return 0


def _pairs(first: Int64, second: Int64) -> tuple[Int64, Int64]:
    """Returns the different pairs of two columns, sorted."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return first[is_new], second[is_new]


def _external(events: Events) -> Int64:
    """Returns torch's own number of each operator, -1 for none."""
    return np.where(events.has("external"), events.smalls("external"), events.smalls("external_again"))


def _each(thread: Int64) -> Iterator[tuple[int, Rows]]:
    """Yields every thread that is not -1, and its rows."""
    return ((number, own) for number, own in each_thread(thread) if number >= 0)
