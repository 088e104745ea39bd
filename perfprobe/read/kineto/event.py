"""Events of a trace as columns of numbers. They look the same for every version of the writer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perfprobe.tables.columns import Int64, Mask, Rows, distinct

LONGEST_US = 2.0**62 / 1000
NUMBERS = (float, int)
_SMALLEST_TOO_LARGE = (1 << 31) - 1

# An entry of an event is one number: a whole number is itself (times are in ns), and any other value is the
# number of its JSON text: most texts occur many times, and each different one is decoded once.
NONE = int(np.iinfo(np.int64).min)  # there is no such entry, or it is null
LIMIT = 1 << 62
FIRST_TEXT = -LIMIT - 1  # text n is FIRST_TEXT - n

TIMES = ("ts", "dur")
EVENT = ("ph", "cat", "name", "pid", "tid", "id")
# Our names for entries of `args`, and those in the trace.
ARGS = {
    "dims": "Input Dims",
    "types": "Input type",
    "types_again": "Input Types",  # in some versions
    "strides": "Input Strides",
    "values": "Concrete Inputs",
    "call_stack": "Call stack",
    "grid": "grid",
    "block": "block",
    "sequence": "Sequence number",
    "forward_thread": "Fwd thread id",
    "external": "External id",
    "external_again": "external id",  # before 2023
    "allocated_bytes": "Bytes",
    "memory_kind": "Device Type",
    "memory_device": "Device Id",
    "address": "Addr",
    "held_bytes": "Total Allocated",
    "reserved_bytes": "Total Reserved",
    "thread_name": "name",
    "device": "device",
    "context": "context",
    "stream": "stream",
    "correlation": "correlation",
    "graph": "graph id",
    "graph_node": "graph node id",
    "registers": "registers per thread",
    "occupancy": "est. achieved occupancy %",
    "blocks_per_sm": "blocks per SM",
    "shared_bytes": "shared memory",
    "size_bytes": "bytes",
    "wait_kind": "cuda_sync_kind",
    "kernel_file": "kernel_file",
    "message_elements": "In msg nelems",
    "message_dtype": "dtype",
    "group": "Process Group Name",
    "group_size": "Group size",
}
COLUMNS = (*TIMES, *EVENT, *ARGS)


class Events:
    """Some events of a trace. Entries are requested by the names of `COLUMNS`."""

    def __init__(self, columns: Sequence[Int64], texts: Sequence[bytes], rows: Rows | None = None) -> None:
        self._columns, self._texts, self._rows = columns, texts, rows

    def __len__(self) -> int:
        return len(self._columns[0]) if self._rows is None else len(self._rows)

    def take(self, chosen: Mask) -> Events:
        """Returns the events that a mask selects, in the same order."""
        rows = np.flatnonzero(chosen) if self._rows is None else self._rows[chosen]
        return Events(self._columns, self._texts, rows)

    def codes(self, name: str) -> Int64:
        """Returns the number of an entry for each event. Equal values have equal numbers."""
        column = self._columns[COLUMNS.index(name)]
        return column if self._rows is None else column[self._rows]

    def has(self, name: str) -> Mask:
        """Returns which events have an entry."""
        return np.asarray(self.codes(name) != NONE)

    def equals(self, name: str, value: str) -> Mask:
        """Returns for which events an entry is this text, which needs no escapes in JSON."""
        text = f'"{value}"'.encode()
        codes = self.codes(name)
        found = FIRST_TEXT - self._texts.index(text) if text in self._texts else FIRST_TEXT + 1
        return np.asarray(codes == found)

    def raw(self, code: int) -> bytes:
        """Returns a value as JSON; b"" if there is none."""
        if code == NONE:
            return b""
        return self._texts[FIRST_TEXT - code] if code <= FIRST_TEXT else b"%d" % code

    def value(self, code: int) -> Any:
        """Returns a decoded value; None if there is none."""
        return code if code > FIRST_TEXT else value_of(self.raw(code))

    def each(self, name: str, convert: Callable[[Any], int]) -> Int64:
        """Returns the entry of each event converted to a number: `convert` gets each different value once."""
        codes = self.codes(name)
        group, known = _numbered(codes)
        return np.array([convert(self.value(code)) for code in known], np.int64)[group]

    def groups(self, *names: str) -> tuple[Rows, list[tuple[int, ...]]]:
        """Returns the group of each event, and the numbers of the entries that it shares with its group."""
        return grouped([self.codes(name) for name in names])

    def numbers(self, name: str) -> Int64:
        """Returns an entry that is an id or a size; -1 for none, as `number` does."""
        codes = self.codes(name)
        found = np.where(codes >= 0, codes, -1)
        return self._with_texts(codes, found, number)

    def smalls(self, name: str) -> Int64:
        """Like `numbers`, for columns of 32 bits."""
        found = self.numbers(name)
        return np.where(found < _SMALLEST_TOO_LARGE, found, -1)

    def times(self, name: str) -> Int64:
        """Returns "ts" or "dur" in ns; NONE if it is not a time."""
        codes = self.codes(name)
        return self._with_texts(codes, codes, _time_or_none)

    def spans(self) -> tuple[Int64, Int64, Mask]:
        """Returns start and end of each event, and which have both and do not end before they start."""
        start_ns, length_ns = self.times("ts"), self.times("dur")
        usable = (start_ns != NONE) & (length_ns >= 0)
        end_ns = start_ns + np.where(usable, length_ns, 0)
        return start_ns, end_ns, np.asarray(usable & (end_ns >= start_ns))

    def _with_texts(self, codes: Int64, found: Int64, convert: Callable[[Any], int]) -> Int64:
        """Returns `found` with converted values where codes stand for texts."""
        is_text = (codes <= FIRST_TEXT) & (codes != NONE)
        if not bool(is_text.any()):
            return found
        group, known = _numbered(codes[is_text])
        made = found.copy()
        made[is_text] = np.array([convert(self.value(code)) for code in known], np.int64)[group]
        return made


def grouped(columns: Sequence[Int64]) -> tuple[Rows, list[tuple[int, ...]]]:
    """Returns for each row the number of its group of equal rows, and the values of each group."""
    if len(columns[0]) == 0:
        return np.empty(0, np.intp), []
    varying = [column for column in columns if bool((column != column[0]).any())]
    if len(varying) == 0:
        return np.zeros(len(columns[0]), np.intp), [tuple(int(column[0]) for column in columns)]
    order = np.lexsort(varying)
    is_first = np.ones(len(order), np.bool_)
    ordered = [column[order] for column in varying]
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(is_first) - 1
    rows = order[is_first]
    return group, list(zip(*(column[rows].tolist() for column in columns), strict=True))


def _numbered(codes: Int64) -> tuple[Rows, list[int]]:
    """Returns the place of each code in the list of different codes."""
    place = FIRST_TEXT - codes
    if len(codes) == 0 or int(codes.max()) > FIRST_TEXT or int(codes.min()) == NONE:
        known = distinct(codes)
        return np.searchsorted(known, codes), known.tolist()
    is_used = np.bincount(place) > 0  # texts only, the usual case, without sorting
    return (np.cumsum(is_used) - 1)[place], (FIRST_TEXT - np.flatnonzero(is_used)).tolist()


def value_of(text: bytes) -> Any:
    """Decodes JSON; None for an empty or invalid text."""
    try:
        # Bytes given to `loads` would first be searched for their encoding.
        return json.loads(text.decode("utf-8", "surrogatepass")) if text else None
    except (ValueError, RecursionError):
        return None


def time_ns(value: Any) -> int | None:
    """Converts microseconds to nanoseconds; None if the value is not a time."""
    if type(value) in NUMBERS:
        return round(value * 1000) if -LONGEST_US < value < LONGEST_US else None
    if isinstance(value, str):  # some writers quote numbers
        try:
            value = float(value)
        except ValueError:
            return None
        return time_ns(value)
    return None


def _time_or_none(value: Any) -> int:
    found = time_ns(value)
    return NONE if found is None else found


def number(value: Any) -> int:
    """Converts an id or a size to int; -1 if there is none. Some ids have all bits set to say that."""
    if type(value) is int:
        return value if 0 <= value < LIMIT else -1
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return number(int(value))
    return -1


def small(value: Any) -> int:
    """Like `number`, for columns of 32 bits."""
    found = value if type(value) is int else number(value)
    return found if 0 <= found < _SMALLEST_TOO_LARGE else -1
