"""One event of a trace. It looks the same for every version of the writer and for both JSON decoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from perfprobe.models.chrome import ENTRY

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
    "message_elements": "In msg nelems",
    "message_dtype": "dtype",
    "group": "Process Group Name",
    "group_size": "Group size",
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
    message_elements: Any = None
    message_dtype: Any = None
    group: Any = None
    group_size: Any = None


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


class OwnEvent:
    """An event of a trace that perfprobe exported. `args.row` is set if it is the row of a table."""

    ts: Any = None
    dur: Any = None
    args: Any = None


class Decoder(NamedTuple):
    """Decodes events.

    Attributes:
        many: decodes a list of events or raises ValueError.
        one: makes an event from a decoded JSON object.
        typed: whether it uses msgspec, which is optional and fast.
    """

    many: Callable[[bytes], list[Any]]
    one: Callable[[dict[str, Any]], Any]
    typed: bool


def plain_decoder() -> Decoder:
    """Returns the decoder for traces of torch.profiler. It makes `Event`s."""
    try:
        import msgspec
    except ImportError:
        return Decoder(lambda text: _standard(text, event_of), event_of, False)
    texts = [(name, msgspec.Raw, msgspec.Raw(b"")) for name in _TEXTS]
    values = [(name, Any, None) for name in _VALUES]
    facts = msgspec.defstruct("Facts", [*texts, *values], rename=_TEXTS | _VALUES, gc=False)
    plain = [(name, Any, None) for name in _EVENT]
    event = msgspec.defstruct("Event", [*plain, ("args", facts | None, None)], gc=False)
    return Decoder(_typed(event), event_of, True)


def own_decoder() -> Decoder:
    """Returns the decoder for traces that perfprobe exported. It makes `OwnEvent`s."""
    try:
        import msgspec
    except ImportError:
        return Decoder(lambda text: _standard(text, own_event_of), own_event_of, False)
    facts = msgspec.defstruct("Facts", [("row", list[int] | None, None)], rename={"row": ENTRY}, gc=False)
    plain = [(name, Any, None) for name in ("ts", "dur")]
    event = msgspec.defstruct("OwnEvent", [*plain, ("args", facts | None, None)], gc=False)
    return Decoder(_typed(event), own_event_of, True)


def _typed(event: Any) -> Callable[[bytes], list[Any]]:
    import msgspec

    typed = msgspec.json.Decoder(list[event])

    def decode(text: bytes) -> list[Any]:
        try:
            found: list[Any] = typed.decode(text)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from error
        return found

    return decode


def _standard(text: bytes, one: Callable[[dict[str, Any]], Any]) -> list[Any]:
    return [one(event) for event in json.loads(text) if isinstance(event, dict)]


class _OwnFacts(NamedTuple):
    row: list[int] | None


def own_event_of(fields: dict[str, Any]) -> OwnEvent:
    """Makes an event from a decoded JSON object."""
    made = OwnEvent()
    made.ts, made.dur, args = fields.get("ts"), fields.get("dur"), fields.get("args")
    row = args.get(ENTRY) if isinstance(args, dict) else None
    is_row = isinstance(row, list) and all(type(value) is int for value in row)
    made.args = _OwnFacts(row if is_row else None)
    return made


def event_of(fields: dict[str, Any]) -> Event:
    """Makes an `Event` of a dict that the standard library decoded."""
    made = Event()
    for name in _EVENT:
        if name in fields:
            setattr(made, name, fields[name])
    args = fields.get("args")
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


def span_ns(event: Event | OwnEvent) -> tuple[int, int] | None:
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
