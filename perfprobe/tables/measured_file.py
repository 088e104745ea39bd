"""Measurements as a JSON document, and the file beside a recording that stores them.

The document is `{"schema": 1, "meta": {}, "losses": [], "tables": {"measurements": []}}`. Its rows have the
fields of `Measurement`; null means not measured. Within a schema fields are only added, and a reader skips
unknown ones.

The file is untrusted, like a recording: its size is limited, and every value must have the type that the
dataclasses declare.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from perfprobe.support import files
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.tables.measurements import Measurement, Measurements
from perfprobe.tables.opened import regular_file
from perfprobe.tables.recording import Recording
from perfprobe.tables.storage import SUFFIX

SCHEMA = 1
ENDING = ".measurements.json"
MOST_BYTES = 1 << 24  # hundreds of signatures with all their figures take a tenth of this
LONGEST_TEXT = 1 << 18  # characters of a signature
_LARGEST = 2**63
_REMEDY = "measure again: perfprobe bench"


def beside(recording: str) -> str:
    """Returns the path of the measurements of a recording."""
    return recording.removesuffix(SUFFIX) + ENDING


def identity(recording: Recording) -> str:
    """Returns a text that distinguishes this recording from others with its name."""
    facts = [recording.number("program", "pid"), recording.number("start", "monotonic_ns")]
    facts += [recording.number("clock", "realtime_ns"), recording.last_ns, recording.operator_rows]
    return " ".join(map(str, facts))


def document(measured: Measurements, belongs_to: str | None) -> dict[str, Any]:
    """Returns the document for json.dumps. belongs_to: identity of the recording; None if typed."""
    meta = asdict(measured)
    rows = meta.pop("rows")
    losses = [
        {
            "source": "bench",
            "reason": f"{row.wanted.operator} {row.wanted.signature}: not rebuilt: {row.not_rebuilt}",
            "count": None if row.seen is None else row.seen.calls,
            "remedy": None,
        }
        for row in measured.rows
        if row.not_rebuilt is not None
    ]
    meta["identity"] = belongs_to
    return {"schema": SCHEMA, "meta": meta, "losses": losses, "tables": {"measurements": rows}}


def write(path: str, measured: Measurements, belongs_to: str | None) -> None:
    """Writes the document atomically. Raises EnvironmentLack if it cannot be written."""
    text = json.dumps(document(measured, belongs_to), indent=1, allow_nan=False) + "\n"
    try:
        files.write(path, text.encode(errors="backslashreplace"))
    except OSError as error:
        what = f"the measurements cannot be written ({error.strerror})"
        raise EnvironmentLack(what, path, "name a file with -o") from error


def read(path: str, belongs_to: str | None, verdicts: Sequence[str]) -> Measurements:
    """Reads the measurements in a file.

    Args:
        belongs_to: identity of the recording that they must belong to.
        verdicts: the kinds of verdicts that exist.

    Raises:
        InputError: the file cannot be read, holds something else, or belongs to another recording.
    """
    found = _loaded(path)
    meta, tables = _part(found, "meta", path), _part(found, "tables", path)
    if meta.get("identity") != belongs_to:
        raise InputError("the measurements belong to another recording", path, _REMEDY)
    try:
        measured: Measurements = _as_kind(Measurements, {**meta, "rows": tables.get("measurements")}, "meta")
        _check_verdicts(measured.rows, verdicts)
    except ValueError as error:
        raise InputError(f"these are not measurements ({error})", path, _REMEDY) from error
    return measured


def measurement(row: Any) -> Measurement:
    """Returns a row of the document. Raises ValueError if it is not valid."""
    found: Measurement = _as_kind(Measurement, row, "measurement")
    return found


def _loaded(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb", opener=regular_file) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError("too large")
        found = json.loads(data)
    except OSError as error:
        raise InputError(f"the measurements cannot be read: {error.strerror}", path, "") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"these are not measurements ({error})", path, _REMEDY) from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        what = f"these are not measurements of schema {SCHEMA}"
        raise InputError(what, path, _REMEDY)
    return found


def _part(found: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    part = found.get(name)
    if not isinstance(part, dict):
        raise InputError(f"these are not measurements (no {name})", path, _REMEDY)
    return part


def _check_verdicts(rows: Sequence[Measurement], verdicts: Sequence[str]) -> None:
    for row in rows:
        if row.verdict is not None and row.verdict.kind not in verdicts:
            raise ValueError("unknown verdict")


def _as_kind(kind: Any, value: Any, name: str) -> Any:
    """Returns the JSON value as the type of an annotation. Raises ValueError if it does not fit."""
    if is_dataclass(kind):
        return _as_dataclass(kind, value, name)
    if isinstance(kind, types.UnionType):  # the only unions are X | None
        return None if value is None else _as_kind(get_args(kind)[0], value, name)
    if get_origin(kind) is tuple:
        return _as_tuple(get_args(kind), value, name)
    if not _PLAIN[kind](value):
        raise ValueError(f"{name} has another type")
    return float(value) if kind is float else value


def _as_dataclass(kind: Any, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{name} has another type")
    given = {}
    for place, hint in _hints(kind):
        if place.name in value:
            given[place.name] = _as_kind(hint, value[place.name], place.name)
        elif place.default is MISSING:
            raise ValueError(f"{name} has no {place.name}")
    return kind(**given)


def _as_tuple(kinds: tuple[Any, ...], value: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise ValueError(f"{name} has another length")
    return tuple(_as_kind(kind, item, name) for kind, item in zip(kinds, value, strict=True))


@cache
def _hints(kind: Any) -> list[tuple[Any, Any]]:
    hints = get_type_hints(kind)
    return [(place, hints[place.name]) for place in fields(kind)]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -_LARGEST < value < _LARGEST and math.isfinite(value)


_PLAIN: dict[Any, Callable[[Any], bool]] = {
    float: _is_number,
    int: lambda value: _is_number(value) and isinstance(value, int),
    str: lambda value: isinstance(value, str) and len(value) <= LONGEST_TEXT,
    bool: lambda value: isinstance(value, bool),
}
