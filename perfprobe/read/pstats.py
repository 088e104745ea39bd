"""Reads profiles of cProfile (`.pstats`, `.prof`) as recordings of Python functions without operators.

Such a file is a marshalled dict: {(file, first line, name): (primitive calls, calls, own seconds, total
seconds, {caller: (calls, primitive calls, own seconds, total seconds)})}. The file of a C function is `~`.
Source: Lib/cProfile.py and Lib/pstats.py of CPython.
"""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from perfprobe.read.marshalled import MarshalError, Pairs, Reader, Value
from perfprobe.support.errors import InputError
from perfprobe.tables import storage
from perfprobe.tables.columns import Int64, SomeTable
from perfprobe.tables.events import Threads
from perfprobe.tables.opened import OpenedFile
from perfprobe.tables.python import Calls, Functions
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

C_FILE = "~"
MOST_BYTES = 64 << 20  # half a million functions; a program has some ten thousand

_BEGINNING = re.compile(rb"[{\xfb](?:0|[()\xa8\xa9])")  # a dict that is empty or begins with a tuple
_STDLIB = re.compile(r".*/lib(?:64)?/python3\.\d+t?(?=/(?!site-packages/))")
_NS = 1e9
_LIMIT = 2**62

Key: TypeAlias = "tuple[str, int, str]"


def is_pstats(file: OpenedFile) -> bool:
    """Whether a file begins like a profile of cProfile; False if it cannot be read."""
    try:
        return _BEGINNING.match(file.at(0, 2)) is not None
    except OSError:
        return False


def read(path: str | os.PathLike[str] | OpenedFile) -> Recording:
    """Reads a profile of cProfile.

    Raises InputError if the file is unreadable, damaged, or not such a profile.
    """
    file = path if isinstance(path, OpenedFile) else storage.opened(path)
    try:
        with file.stream() as stream:
            return _recording(file.name, Reader(_limited(stream.read(MOST_BYTES + 1))).pairs())
    except MarshalError as error:
        remedy = "write it again: python -m cProfile -o FILE script.py"
        raise InputError(f"not a profile of cProfile ({error})", file.name, remedy) from error
    except OSError as error:
        raise InputError(f"cannot read the profile: {error.strerror}", file.name) from error


def _limited(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise MarshalError(f"it is larger than {MOST_BYTES >> 20} MiB")
    return data


def _recording(path: str, entries: Iterable[tuple[Value, Value]]) -> Recording:
    numbers: dict[Key, int] = {}  # of functions and callers: a caller may come before its own row
    ids: dict[str, int] = {}
    functions, calls, order = array("q"), array("q"), array("q")  # row by row: tuples would be far larger
    for entry, figures in entries:
        key = _key(entry)
        primitive, count, own, total, callers = _parts(figures, 5)
        functions.extend((0, 0, *_named(ids, key), *_figures(count, primitive, own, total)))
        for caller, of_caller in _pairs(callers):
            number = numbers.setdefault(_key(caller), len(numbers))
            calls.extend((0, number, len(order), *_figures(*_parts(of_caller, 4))))
        order.append(numbers.setdefault(key, len(numbers)))
    thread_name = ids.setdefault("all threads", len(ids))
    tables = (
        Strings(np.array(list(ids), np.object_)),
        _table(Threads, array("q", (-1, -1, thread_name))),
        _table(Functions, functions),
        _called_by(_table(Calls, calls), np.array(order, np.int64), len(numbers)),
    )
    return Recording(
        path=path,
        tables={type(table): table for table in tables},
        meta={"pstats": os.path.basename(path), "roots": {"stdlib": sorted(_stdlib(numbers))}},
        complete=True,
        last_ns=-1,
        stopped_at=None,
        operator_rows=0,
        source=lambda _: iter(()),
    )


def _called_by(calls: Calls, order: Int64, numbers: int) -> Calls:
    """Replaces the number of each caller by its row. cProfile writes a row for every caller."""
    row_of = np.full(numbers, -1, np.int32)
    row_of[order] = np.arange(len(order))
    caller = row_of[calls.caller]
    if (caller < 0).any():
        raise MarshalError("unknown caller")
    return replace(calls, caller=caller)


def _table(kind: type[SomeTable], rows: array[int]) -> SomeTable:
    columns = np.frombuffer(rows, np.int64).reshape(-1, len(kind.dtypes)).T
    pairs = zip(kind.dtypes.items(), columns, strict=True)
    return kind(**{name: column.astype(dtype) for (name, dtype), column in pairs})


def _named(ids: dict[str, int], key: Key) -> tuple[int, int, int]:
    """Returns file, function and first line of a row of `functions`."""
    file, line, name = key
    file_id = -1 if file == C_FILE else ids.setdefault(file, len(ids))
    return file_id, ids.setdefault(name, len(ids)), line


def _stdlib(keys: Iterable[Key]) -> set[str]:
    """Returns the folders of standard libraries, found by their names: the file does not hold them."""
    return {match[0] for file, _, _ in keys if (match := _STDLIB.match(file))}


def _pairs(value: Value) -> Pairs:
    if not isinstance(value, Pairs):
        raise MarshalError("expected a dict")
    return value


def _parts(value: Value, count: int) -> tuple[Value, ...]:
    if isinstance(value, int):
        raise MarshalError("written by the module `profile`, which does not time calls")
    if not isinstance(value, tuple) or len(value) != count:
        raise MarshalError(f"a function does not have {count} figures")
    return value


def _key(value: Value) -> Key:
    file, line, name = value if isinstance(value, tuple) and len(value) == 3 else (None, None, None)
    if not isinstance(file, str) or not isinstance(line, int) or not isinstance(name, str):
        raise MarshalError("a function's key is not (file, line, name)")
    if line >= 2**31:
        raise MarshalError("line number too large")
    return file, max(line, 0), name


def _figures(calls: Value, primitive: Value, own: Value, total: Value) -> tuple[int, int, int, int]:
    return _count(calls), _count(primitive), _ns(own), _ns(total)


def _count(value: Value) -> int:
    if not isinstance(value, int) or not 0 <= value < _LIMIT:
        raise MarshalError("call count is not a non-negative integer")
    return value


def _ns(value: Value) -> int:
    """Converts seconds to nanoseconds."""
    if not isinstance(value, (int, float)) or not math.isfinite(value) or not 0 <= value * _NS < _LIMIT:
        raise MarshalError("time is not a number")
    return round(value * _NS)
