"""Rows: dataclasses with typed values, named as in the JSON document. None means not known or not measured.

Texts identify rows, not ids of one recording, so rows of two recordings can be compared.
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
    """A field whose value's own fields become fields of the row, each with the prefix."""
    return field(metadata={"spread": [(prefix + name, name) for name in names]})


def place(prefix: str = "") -> Any:
    """A field with a `Line`: in documents `file`, `line` and `function`, each with the prefix."""
    return spread(prefix, Line._fields)


def inline() -> Any:
    """A field whose value, a row or a mapping, is merged into the row."""
    return field(metadata={"inline": True})


def unwritten() -> Any:
    """A field that documents leave out, because it is only needed to show other fields."""
    return field(metadata={"unwritten": True})


@frozen
class Values:
    """A row that has all columns of a table's row."""

    values: Mapping[str, Any] = inline()


def plain(row: Any) -> dict[str, Any]:
    """The row as JSON has it: numbers, texts, lists, dicts and None."""
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
    """Returns the value, or None for -1."""
    return value if value >= 0 else None


def figures_of(value: Mapping[str, int], *without: str) -> dict[str, int | None]:
    """The figures of a table's row except those in `without`, with None for -1."""
    return {name: measured(figure) for name, figure in value.items() if name not in without}


def mean_ns(total_ns: int | None, timed: int) -> int | None:
    """The mean in whole ns, None if none has times. timed: how many have times."""
    return total_ns // timed if total_ns is not None and timed > 0 else None


def named(text: str) -> str | None:
    """Returns the text, or None for "", which is the text of the id -1."""
    return text or None


def word(kinds: type[IntEnum], value: int) -> str | None:
    """The name of a kind in small letters, None for an unknown value."""
    try:
        return kinds(value).name.lower()
    except ValueError:
        return None


def values(table: Table) -> Iterator[dict[str, Any]]:
    """Yields each row of a table as a dict of plain numbers and texts."""
    columns = {name: column.tolist() for name, column in table.columns().items()}
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))
