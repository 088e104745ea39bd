"""Traces that `perfprobe export --format chrome` wrote: the recording that they were made from."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.models.chrome import ENTRY, EVENTS, FORMAT, HELD, columns
from perfprobe.read.kineto.chunks import Chunks
from perfprobe.read.kineto.decoder import OwnEvent, span_ns
from perfprobe.read.kineto.event import time_ns
from perfprobe.read.kineto.rows import narrowed
from perfprobe.support.errors import InputError
from perfprobe.tables import storage
from perfprobe.tables.columns import TEXT, Table
from perfprobe.tables.definitions import Definitions
from perfprobe.tables.events import Losses, Operators
from perfprobe.tables.meta import End, Meta
from perfprobe.tables.recording import OperatorSource, Recording

SOURCE = "trace"
_NOT_IN_IT = (
    "counts of calls, values and reuse of operands, activity of threads, memory, counters, native code, sums "
    "of steps that were not kept: the trace has none"
)
_LARGEST = 1 << 62


def own(name: str, chunks: Chunks) -> Recording:
    """The recording in such a trace.

    Raises:
        InputError: it is of a newer perfprobe, or damaged.
    """
    entry = chunks.about[ENTRY]
    if entry.get("format") != FORMAT:
        raise InputError("the trace was exported by another version of perfprobe", name, "export it again")
    rows = [array("q") for _ in EVENTS]
    damaged = sum(_add(rows, event) for events in chunks for event in events)
    base_ns = _number(entry.get("base_ns"), 0)
    events = [_table(kind, found, base_ns) for kind, found in zip(EVENTS, rows, strict=True)]
    definitions = Definitions()
    for kind in HELD:
        definitions.keep(_held(kind, entry, name))
    for table in events[1:]:
        definitions.keep(table)
    definitions.keep(_meta(entry))
    definitions.keep(_losses(chunks, damaged, entry))
    if entry.get("complete") is True:
        definitions.keep(End(np.array([_number(entry.get("last_ns"), -1)], np.int64)))
    operators = events[0]
    sources = {Operators.table_name: streamed(operators), "autograd_operators": lambda _: iter(())}
    return definitions.recording(name, chunks.stopped, len(operators), sources)


def streamed(operators: Table) -> OperatorSource:
    """Operators in memory as a recording reads them: in batches."""

    def batches(wanted: Sequence[str]) -> Iterator[dict[str, npt.NDArray[Any]]]:
        for first in range(0, len(operators), storage.BATCH_ROWS):
            rows = operators.take(np.s_[first : first + storage.BATCH_ROWS])
            yield {name: getattr(rows, name) for name in wanted}

    return batches


def _add(rows: Sequence[array[int]], event: OwnEvent) -> bool:
    """Takes in an event if it is a row of a table; True where it should be and cannot."""
    row = None if event.args is None else event.args.row
    if row is None:
        return False
    times = span_ns(event) if event.dur is not None else (time_ns(event.ts), 0)
    if times is None or times[0] is None or not row or not 0 <= row[0] < len(EVENTS):
        return True
    if len(row) != len(_COLUMNS[row[0]]) + 1 or not all(-_LARGEST < value < _LARGEST for value in row):
        return True
    rows[row[0]].extend((*times, *row[1:]))
    return False


_COLUMNS = [columns(kind) for kind in EVENTS]


def _table(kind: type[Table], rows: array[int], base_ns: int) -> Table:
    names = ("start_ns", "end_ns", *(name if name != "end_ns" else "apart_ns" for name in columns(kind)))
    found = dict(zip(names, np.frombuffer(rows, np.int64).reshape(-1, len(names)).T, strict=True))
    for name in ("start_ns", "end_ns"):
        found[name] = found[name] + base_ns
    if "apart_ns" in found:
        found["end_ns"] = np.where(found["apart_ns"] < 0, -1, found["apart_ns"] + base_ns)
    return kind(**{name: narrowed(found[name], dtype) for name, dtype in kind.dtypes.items()})


def _held(kind: type[Table], entry: dict[str, Any], name: str) -> Table:
    """A table of the file's entry; a column that it does not have is none."""
    tables = entry.get("tables")
    given = tables.get(kind.table_name) if isinstance(tables, dict) else None
    given = given if isinstance(given, dict) else {}
    lists = {key: given.get(key) for key in kind.dtypes}
    length = max((len(value) for value in lists.values() if isinstance(value, list)), default=0)
    try:
        made = {key: _column(lists[key], dtype, length) for key, dtype in kind.dtypes.items()}
        return kind(**made)
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(
            f"the trace's table {kind.table_name} is damaged", name, "export it again"
        ) from error


def _column(values: Any, dtype: np.dtype[Any], length: int) -> npt.NDArray[Any]:
    if dtype == TEXT:
        texts = values if isinstance(values, list) else [""] * length
        return np.array([*map(str, texts), ""], np.object_)[:-1]
    if values is None:
        return np.full(length, -1, dtype)
    return narrowed(np.array(values, np.int64).reshape(-1), dtype)


def _meta(entry: dict[str, Any]) -> Meta:
    given = entry.get("meta")
    facts = given if isinstance(given, dict) else {}
    texts = [np.array([*column, ""], np.object_)[:-1] for column in (facts, map(json.dumps, facts.values()))]
    return Meta(*texts)


def _losses(chunks: Chunks, damaged: int, entry: dict[str, Any]) -> Losses:
    rows = [Losses.one(SOURCE, _NOT_IN_IT, -1, "report on the recording itself")]
    if entry.get("window") is not None:
        rows.append(Losses.one(SOURCE, "what lies outside of the steps that were exported", -1, "export all"))
    if damaged + chunks.damaged:
        rows.append(Losses.one(SOURCE, "damaged events were left out", damaged + chunks.damaged))
    about = chunks.about.get(f"{ENTRY}End")
    left_out = _number(about.get("left_out") if isinstance(about, dict) else None, 0)
    if left_out > 0:
        rows.append(Losses.one(SOURCE, "events without usable times were not exported", left_out))
    return Losses.concat(rows)


def _number(value: Any, default: int) -> int:
    return value if type(value) is int and -_LARGEST < value < _LARGEST else default
