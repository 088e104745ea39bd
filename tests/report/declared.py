"""The fields that JSON has for a row, from the declaration of its kind, for tests of the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints


def fields_of(kind: type, **columns: Sequence[str]) -> list[str]:
    """In the order of JSON. columns: those of a field that merges a mapping into the row, by that field."""
    return list(_fields(kind, columns))


def _fields(kind: type, columns: dict[str, Sequence[str]]) -> Iterator[str]:
    kinds = get_type_hints(kind)
    for field in fields(kind):
        if "spread" in field.metadata:
            yield from (name for name, _ in field.metadata["spread"])
        elif "inline" in field.metadata:
            inner = kinds[field.name]
            is_row = isinstance(inner, type) and is_dataclass(inner)
            yield from _fields(inner, columns) if is_row else columns[field.name]
        elif "unwritten" not in field.metadata:
            yield field.name


def known(row: dict[str, Any]) -> dict[str, Any]:
    """What JSON says of a row: the rest is null."""
    return {name: value for name, value in row.items() if value is not None}
