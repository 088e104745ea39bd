"""Reads a session's event tree: operators, the Python code that called them, and allocations."""

from __future__ import annotations

from os import getpid
from typing import NamedTuple

from perfprobe.collect.autograd.kineto import EDGE_NS
from perfprobe.collect.autograd.names import Call
from perfprobe.collect.autograd.nesting import Seen, Thread
from perfprobe.tables.scopes import BACKWARD_FUNCTION, FUNCTION, USER_SCOPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from perfprobe.collect.autograd.kineto import Raw
    from perfprobe.collect.autograd.names import Names
    from perfprobe.collect.autograd.signature import Signatures

_SCOPES = (FUNCTION, BACKWARD_FUNCTION, USER_SCOPE)  # the scopes that the observer records


class _Around(NamedTuple):
    """What is around an event: the Python function, and what is known of the line in it.

    Attributes:
        stack: of the operator around it; None if Python runs inside that operator.
        exact: the event of the C call it runs in, which has the line.
        before, after: without `exact`, the lines of the calls before and after it.
    """

    call: Call | None
    stack: int | None
    exact: Any = None
    before: int | None = None
    after: int | None = None


class TreeReader:
    """Reads one session after another. Each recording needs its own object."""

    def __init__(self, torch: Any, names: Names, texts: Signatures) -> None:
        kinds = torch._C._profiler._EventType
        self._operator_kind, self._allocation_kind = int(kinds.TorchOp), int(kinds.Allocation)
        self._call_kind, self._c_call_kind = int(kinds.PyCall), int(kinds.PyCCall)
        self._names, self._texts = names, texts
        self._signatures: dict[tuple[str, str | None, int, int], int] = {}
        self.events_read = 0  # events of the last session, including Python's calls
        self.cut_off = 0  # operators that had not ended when their session ended
        self.left_open = False  # whether the last session had such an operator on the main thread
        self.function_only = 0  # operators of the user's code whose line in the function is not known

    def read(self, raw: Raw, of_host: Sequence[Any] | None = None) -> dict[int, Thread]:
        """Returns what the session saw, by torch's number of the thread.

        Args:
            of_host: its events, except those of GPUs.
        """
        self.left_open = False
        self._with_stacks = raw.with_stacks
        self._latest_ns = raw.unix_stop_ns - EDGE_NS
        events = raw.results.events()
        self.events_read = len(events)
        of_host = events if of_host is None else of_host
        self._events = {event.correlation_id(): event for event in of_host if not _is_python(event)}
        self._threads: dict[int, Thread] = {}
        self._read_trees(raw.results.experimental_event_tree())
        self._events = {}
        return self._threads

    def _read_trees(self, roots: Sequence[Any]) -> None:
        # Without recursion, because a tree may be as deep as Python's stack. Importing a package makes
        # millions of Python calls, so events that no operator needs are not examined.
        nowhere = _Around(None, None)
        waiting = list(self._below(roots, nowhere))
        while waiting:
            event, kind, around = waiting.pop()
            if kind == self._operator_kind:
                around = _Around(around.call, self._operator(event, around))
            elif kind == self._allocation_kind:
                self._allocation(event)
                continue
            elif not self._with_stacks:
                around = nowhere  # only a part of Python's calls was seen, so none can be trusted
            elif kind == self._call_kind:
                around = _Around(Call(around.call, event), None)
            elif kind == self._c_call_kind:
                around = _Around(around.call, None, event)
            children = event.children
            if children:
                waiting += self._below(children, around)

    def _below(self, events: Sequence[Any], around: _Around) -> Iterator[tuple[Any, int, _Around]]:
        """Yields the children, last first, with kind and what is around it: also lines of nearby calls."""
        kinds = [int(event.tag) for event in events]
        is_known = around.stack is not None or around.exact is not None or around.call is None
        if is_known or self._operator_kind not in kinds:
            for at in range(len(events) - 1, -1, -1):
                yield events[at], kinds[at], around
            return
        python = (self._call_kind, self._c_call_kind)
        lines = [
            _caller_line(event) if kind in python else None for event, kind in zip(events, kinds, strict=True)
        ]
        before: list[int | None] = [None]
        for line in lines:
            before.append(before[-1] if line is None else line)
        after: int | None = None
        for at in range(len(events) - 1, -1, -1):
            yield events[at], kinds[at], around._replace(before=before[at], after=after)
            after = after if lines[at] is None else lines[at]

    def _allocation(self, event: Any) -> None:
        thread = self._threads.get(int(event.start_tid))
        if thread is not None:
            thread.allocations.append((int(event.start_time_ns), int(event.typed[1].alloc_size)))

    def _operator(self, event: Any, around: _Around) -> int:
        """Adds an operator; returns the stack that it was called from."""
        about = event.typed[1]
        scope = int(about.scope)
        name, overload = str(event.name), str(event.overload_name)
        stack = self._stack(name, around)
        if scope not in _SCOPES:
            return stack
        start_ns, end_ns = int(event.start_time_ns), int(event.end_time_ns)
        found = self._events.get(event.correlation_id)
        forward_id = int(event.start_tid)
        thread = self._threads.get(forward_id)
        if thread is None:
            os_thread = -1 if found is None else int(found.device_resource_id())
            thread = self._threads[forward_id] = Thread(forward_id, os_thread)
        if end_ns < start_ns or end_ns > self._latest_ns:
            self.cut_off += 1
            self.left_open |= thread.os_thread in (getpid(), -1)
            return stack
        forward_thread = 0 if found is None else int(found.fwd_thread_id())
        seen = Seen(start_ns, end_ns, (name, scope, int(about.sequence_number), forward_thread))
        seen.name = self._names.text(name, finite="::" in name)
        seen.overload = self._names.text(overload) if overload else -1
        seen.stack = stack
        seen.signature = self._signature(seen, name, overload, about.inputs, found)
        thread.operators.append(seen)
        return stack

    def _stack(self, name: str, around: _Around) -> int:
        if around.stack is not None:
            return around.stack
        if around.call is None:
            return -1
        line = self._line_of_sign(name, around) if around.exact is None else _caller_line(around.exact)
        return self._names.stack(around.call, line)

    def _line_of_sign(self, name: str, around: _Around) -> int | None:
        assert around.call is not None
        function = self._names.function(around.call)
        source = function.source
        line = None if source is None else source.line(name, around.before, around.after)
        self.function_only += function.is_users and line is None
        return line

    def _signature(self, seen: Seen, name: str, overload: str, inputs: Sequence[Any], found: Any) -> int:
        if not inputs:
            return -1
        if found is not None and any(value is None for value in inputs):
            # Only these have lists of numbers.
            others = found.concrete_inputs()
            if len(others) == len(inputs):
                inputs = [o if v is None else v for v, o in zip(inputs, others, strict=True)]
        key = (*self._texts.texts(name, overload, inputs), seen.name, seen.overload)
        if key not in self._signatures:
            self._signatures[key] = self._names.signature(*key)
        return self._signatures[key]


def _caller_line(event: Any) -> int:
    """Returns the line on which a Python call was made."""
    return int(event.typed[1].caller.line_number)


def _is_python(event: Any) -> bool:
    is_python = getattr(event, "is_python_function", None)
    return bool(is_python()) if is_python is not None else False
