"""Decodes events of a trace with `perfprobe._core` (csrc/read/event_columns.h), or the standard library."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from perfprobe import native
from perfprobe.models.chrome import ENTRY
from perfprobe.read.kineto.event import (
    ARGS,
    COLUMNS,
    EVENT,
    FIRST_TEXT,
    LIMIT,
    LONGEST_US,
    NONE,
    NUMBERS,
    TIMES,
    Events,
    time_ns,
)
from perfprobe.support.errors import EnvironmentLack

_OF_EVENT = {name: at for at, name in enumerate((*TIMES, *EVENT))}  # places in `COLUMNS`
_OF_ARGS = {key: at for at, key in enumerate(ARGS.values(), len(_OF_EVENT))}


class OwnEvent:
    """An event of a trace that perfprobe exported. `args.row` is set if it is the row of a table."""

    ts: Any = None
    dur: Any = None
    args: Any = None


class Decoder(NamedTuple):
    """Decodes events.

    Attributes:
        many: decodes a list of events or raises ValueError.
        made: makes events from decoded JSON objects.
        remedy: what makes it faster; "" if it is fast.
    """

    many: Callable[[bytes], Any]
    made: Callable[[Iterable[dict[str, Any]]], Any]
    remedy: str


def plain_decoder() -> Decoder:
    """Returns the decoder for traces of torch.profiler. It makes `Events`."""
    try:
        core = native.core()
    except EnvironmentLack as missing:
        return Decoder(lambda text: events_of(_objects(text)), events_of, missing.remedy)
    keys = core.EventKeys(list(TIMES), list(EVENT), list(ARGS.values()))

    def decode(text: bytes) -> Events:
        if not text.isascii():
            text.decode()  # raises UnicodeDecodeError, which is a ValueError
        found = core.event_columns(text, keys)
        if found is None:
            raise ValueError("not a list of events")
        columns, texts = found
        return Events([np.frombuffer(column, np.int64) for column in columns], texts)

    return Decoder(decode, events_of, "")


def own_decoder() -> Decoder:
    """Returns the decoder for traces that perfprobe exported. It makes lists of `OwnEvent`."""
    try:
        import msgspec
    except ImportError:
        remedy = "pip install msgspec"
        return Decoder(lambda text: _own_events(_objects(text)), _own_events, remedy)
    facts = msgspec.defstruct("Facts", [("row", list[int] | None, None)], rename={"row": ENTRY}, gc=False)
    plain = [(name, Any, None) for name in ("ts", "dur")]
    event = msgspec.defstruct("OwnEvent", [*plain, ("args", facts | None, None)], gc=False)
    typed = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]

    def decode(text: bytes) -> list[Any]:
        try:
            found: list[Any] = typed.decode(text)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from error
        return found

    return Decoder(decode, _own_events, "")


def _objects(text: bytes) -> list[dict[str, Any]]:
    return [event for event in json.loads(text) if isinstance(event, dict)]


class _OwnFacts(NamedTuple):
    row: list[int] | None


def _own_events(objects: Iterable[dict[str, Any]]) -> list[OwnEvent]:
    return [own_event_of(decoded) for decoded in objects]


def own_event_of(decoded: dict[str, Any]) -> OwnEvent:
    """Makes an event from a decoded JSON object."""
    made = OwnEvent()
    made.ts, made.dur, args = decoded.get("ts"), decoded.get("dur"), decoded.get("args")
    row = args.get(ENTRY) if isinstance(args, dict) else None
    is_row = isinstance(row, list) and all(type(value) is int for value in row)
    made.args = _OwnFacts(row if is_row else None)
    return made


def events_of(objects: Iterable[dict[str, Any]]) -> Events:
    """Makes events from decoded JSON objects."""
    values, texts = array("q"), dict[bytes, int]()

    def text(value: Any) -> int:
        return FIRST_TEXT - texts.setdefault(json.dumps(value).encode(), len(texts))

    def code(value: Any) -> int:
        if type(value) is int and -LIMIT < value < LIMIT:
            return value
        return NONE if value is None else text(value)

    def time(value: Any) -> int:
        at_ns = time_ns(value) if type(value) in NUMBERS else None
        return (NONE if value is None else text(value)) if at_ns is None else at_ns

    for decoded in objects:
        row = [NONE] * len(COLUMNS)
        for key in _OF_EVENT.keys() & decoded.keys():
            at = _OF_EVENT[key]
            row[at] = time(decoded[key]) if at < len(TIMES) else code(decoded[key])
        found = decoded.get("args")
        args = found if isinstance(found, dict) else {}
        for key in _OF_ARGS.keys() & args.keys():
            row[_OF_ARGS[key]] = code(args[key])
        values.extend(row)
    columns = np.frombuffer(values, np.int64).reshape(-1, len(COLUMNS)).T
    return Events([np.ascontiguousarray(column) for column in columns], list(texts))


def span_ns(event: OwnEvent) -> tuple[int, int] | None:
    """Returns start and end of an event; None if either is missing or it ends before it starts."""
    start, length = event.ts, event.dur
    if type(start) in NUMBERS and type(length) in NUMBERS:  # the usual case, kept fast
        if -LONGEST_US < start < LONGEST_US and 0 <= length < LONGEST_US:
            start_ns = round(start * 1000)
            return start_ns, start_ns + round(length * 1000)
        return None
    start_ns, length_ns = time_ns(start), time_ns(length)
    if start_ns is None or length_ns is None or length_ns < 0:
        return None
    return start_ns, start_ns + length_ns
