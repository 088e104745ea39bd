"""Rows: dataclasses with typed values, named as in the JSON document; None: not known or not measured.

Text identifies a row, never an id of one recording: rows of two recordings can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from enum import IntEnum
from typing import Any

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Table
from perfprobe.tables.trace import Line


def spread(prefix: str, names: Sequence[str]) -> Any:
    """A field whose value's own fields are put into the row itself, each after the prefix."""
    return field(metadata={"spread": [(prefix + name, name) for name in names]})


def place(prefix: str = "") -> Any:
    """The field of a `Line`: `file`, `line` and `function`, each after the prefix."""
    return spread(prefix, Line._fields)


def inline() -> Any:
    """A field whose value, a row or a mapping, is put into the row itself."""
    return field(metadata={"inline": True})


def unwritten() -> Any:
    """A field that documents leave out: it is only needed to show others."""
    return field(metadata={"unwritten": True})


@frozen
class Values:
    """A row with all values of a table's row, by column."""

    values: Mapping[str, Any] = inline()


def plain(row: Any) -> dict[str, Any]:
    """The row for a document: numbers, texts, lists, dicts and None."""
    found: dict[str, Any] = {}
    for each in fields(row):
        value = getattr(row, each.name)
        if "spread" in each.metadata:
            found |= {
                name: None if value is None else getattr(value, inner)
                for name, inner in each.metadata["spread"]
            }
        elif "inline" in each.metadata:
            is_row = is_dataclass(value)
            found |= plain(value) if is_row else {name: _plain(item) for name, item in value.items()}
        elif "unwritten" not in each.metadata:
            found[each.name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value._asdict() if hasattr(value, "_asdict") else [_plain(item) for item in value]
    return plain(value) if is_dataclass(value) else value


def measured(value: int) -> int | None:
    """None for -1."""
    return value if value >= 0 else None


def figures_of(value: Mapping[str, int], *without: str) -> dict[str, int | None]:
    """The figures of a row of a table except these, None for -1."""
    return {name: measured(figure) for name, figure in value.items() if name not in without}


def mean_ns(total_ns: int | None, timed: int) -> int | None:
    """Mean in whole nanoseconds; None where none was timed."""
    return total_ns // timed if total_ns is not None and timed > 0 else None


def named(text: str) -> str | None:
    """None for "", which is what an id of -1 reads as."""
    return text or None


def word(kinds: type[IntEnum], value: int) -> str | None:
    """The name of a kind in small letters, None where it has none."""
    try:
        return kinds(value).name.lower()
    except ValueError:
        return None


def values(table: Table) -> Iterator[dict[str, Any]]:
    """Each row of a table as a dict of plain numbers and texts."""
    columns = {name: column.tolist() for name, column in table.columns().items()}
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))
