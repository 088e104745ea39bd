"""One event of a trace. It looks the same for every version of the writer and for both JSON decoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

_LONGEST_US = 2.0**62 / 1000
_NUMBERS = (float, int)

# Attributes of `Facts` and their names in the trace. These stay undecoded JSON: most texts occur many times,
# and each different one is decoded once.
_TEXTS = {
    "dims": "Input Dims",
    "types": "Input type",
    "types_again": "Input Types",  # in some versions
    "strides": "Input Strides",
    "values": "Concrete Inputs",
    "call_stack": "Call stack",
    "grid": "grid",
    "block": "block",
}
_VALUES = {
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "external": "External id",
    "external_again": "external id",  # before 2023
    "allocated_bytes": "Bytes",
    "name": "name",
    "device": "device",
    "context": "context",
    "stream": "stream",
    "correlation": "correlation",
    "graph": "graph id",
    "graph_node": "graph node id",
    "registers": "registers per thread",
    "occupancy": "est. achieved occupancy %",
    "shared_bytes": "shared memory",
    "size_bytes": "bytes",
    "wait_kind": "cuda_sync_kind",
    "kernel_file": "kernel_file",
}


class Facts:
    """The `args` of an event that are used: undecoded JSON (b"" if missing), or values (None if missing)."""

    dims: bytes = b""
    types: bytes = b""
    types_again: bytes = b""
    strides: bytes = b""
    values: bytes = b""
    call_stack: bytes = b""
    grid: bytes = b""
    block: bytes = b""
    sequence: Any = None
    forward_thread: Any = None
    external: Any = None
    external_again: Any = None
    allocated_bytes: Any = None
    name: Any = None
    device: Any = None
    context: Any = None
    stream: Any = None
    correlation: Any = None
    graph: Any = None
    graph_node: Any = None
    registers: Any = None
    occupancy: Any = None
    shared_bytes: Any = None
    size_bytes: Any = None
    wait_kind: Any = None
    kernel_file: Any = None


class Event:
    """An event. An entry that the trace does not have is None."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    ts: Any = None
    dur: Any = None
    pid: Any = None
    tid: Any = None
    id: Any = None
    args: Facts | None = None


NO_FACTS = Facts()
_EVENT = [name for name in Event.__annotations__ if name != "args"]


def decoder() -> tuple[Callable[[bytes], list[Event]], bool]:
    """Returns a function that decodes a list of events or raises ValueError, and whether it uses msgspec.

    msgspec is optional and fast.
    """
    try:
        import msgspec
    except ImportError:
        return _standard, False
    texts = [(name, msgspec.Raw, msgspec.Raw(b"")) for name in _TEXTS]
    values = [(name, Any, None) for name in _VALUES]
    facts = msgspec.defstruct("Facts", [*texts, *values], rename=_TEXTS | _VALUES, gc=False)
    plain = [(name, Any, None) for name in _EVENT]
    event = msgspec.defstruct("Event", [*plain, ("args", facts | None, None)], gc=False)
    typed = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]

    def decode(text: bytes) -> list[Event]:
        try:
            return cast("list[Event]", typed.decode(text))
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from error

    return decode, True


def _standard(text: bytes) -> list[Event]:
    return [event_of(event) for event in json.loads(text) if isinstance(event, dict)]


def event_of(told: dict[str, Any]) -> Event:
    """Makes an `Event` of a dict that the standard library decoded."""
    made = Event()
    for name in _EVENT:
        if name in told:
            setattr(made, name, told[name])
    args = told.get("args")
    if isinstance(args, dict):
        made.args = Facts()
        for name, key in _TEXTS.items():
            if key in args:
                setattr(made.args, name, json.dumps(args[key]).encode())
        for name, key in _VALUES.items():
            if key in args:
                setattr(made.args, name, args[key])
    return made


def value_of(text: bytes) -> Any:
    """Decodes JSON; None for an empty or invalid text."""
    try:
        return json.loads(bytes(text)) if text else None
    except (ValueError, RecursionError):
        return None


def time_ns(value: Any) -> int | None:
    """Converts microseconds to nanoseconds; None if the value is not a time."""
    if type(value) in _NUMBERS:
        return round(value * 1000) if -_LONGEST_US < value < _LONGEST_US else None
    if isinstance(value, str):  # some writers quote numbers
        try:
            value = float(value)
        except ValueError:
            return None
        return time_ns(value)
    return None


def span_ns(event: Event) -> tuple[int, int] | None:
    """Returns start and end of an event; None if either is missing or it ends before it starts."""
    start, length = event.ts, event.dur
    if type(start) in _NUMBERS and type(length) in _NUMBERS:  # the usual case, kept fast
        if -_LONGEST_US < start < _LONGEST_US and 0 <= length < _LONGEST_US:
            start_ns = round(start * 1000)
            return start_ns, start_ns + round(length * 1000)
        return None
    start_ns, length_ns = time_ns(start), time_ns(length)
    if start_ns is None or length_ns is None or length_ns < 0:
        return None
    return start_ns, start_ns + length_ns


def number(value: Any) -> int:
    """Converts an id or a size to int; -1 if there is none. Some ids have all bits set to say that."""
    if type(value) is int:
        return value if 0 <= value < 1 << 62 else -1
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return number(int(value))
    return -1


def small(value: Any) -> int:
    """As `number`, for columns of 32 bits."""
    found = value if type(value) is int else number(value)
    return found if 0 <= found < (1 << 31) - 1 else -1
