"""Columns as sections declare them: the title, what it means, and how the column is made, in one place.

`perfprobe explain` and the guides take titles and meanings from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from perfprobe.report import shorten
from perfprobe.report.section.block import Column, Head
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import TEXT, Table
from perfprobe.tables.trace import Line

Row = TypeVar("Row")
Source = TypeVar("Source")
TableRows: TypeAlias = "Sequence[Mapping[str, Any]]"  # of a table as it is: the values of `described_rows`
_KEPT = 3  # columns of a table as it is that are never dropped
_FORMATS: dict[str, Callable[[Any], str]] = {
    "ns": units.duration,
    "bytes": units.size,
    "millionths": lambda value: units.percent(None if value is None else value / 1e6),
}


def figure(
    title: str,
    means: str,
    cell: Callable[[Row], str],
    rank: int = 0,
    *,
    shown: Callable[[Row], object] | None = None,
    style: str = "",
    role: str = "",
) -> Head[Sequence[Row]]:
    """A column of numbers, right-aligned. cell: the text for a row. shown: true for a row that needs it."""
    return Head(
        title, means, lambda rows: figures(title, map(cell, rows), rank, style, role), _for_any(shown)
    )


def text(
    title: str,
    means: str,
    cell: Callable[[Row], str],
    rank: int = 0,
    *,
    shown: Callable[[Row], object] | None = None,
    **of: Any,
) -> Head[Sequence[Row]]:
    """A column of texts. of: further fields of `block.Column`. Others: as in `figure`."""
    return Head(title, means, lambda rows: Column(title, list(map(cell, rows)), rank, **of), _for_any(shown))


def of_table(
    kind: type[Table], name: str, title: str = "", means: str = "", rank: int = 0, **of: Any
) -> Head[TableRows]:
    """A column of a table as it is: title, meaning and format follow from its declaration, if not given.

    of: as in `figure`, for a column of numbers, or as in `text`.
    """
    declared = kind.described[name]
    title = title or title_of(name)
    means = means or f"{declared.meaning[0].upper()}{declared.meaning[1:]}."
    if declared.refers_to is None and declared.dtype != TEXT:
        cell = _FORMATS.get(declared.unit, units.count)
        return figure(title, means, lambda row: cell(row[name]), rank, **of)
    return Head(title, means, lambda rows: _texts(title, [row[name] for row in rows], rank, **of))


def title_of(name: str) -> str:
    """The title of a table's column: its name without the unit."""
    return name.removesuffix("_ns").removesuffix("_bytes").removesuffix("_ppm").replace("_", " ")


def heads_of(kind: type[Table]) -> list[Head[TableRows]]:
    """All columns of a table as it is. The first ones always have room, of the others the last go first."""
    return [
        of_table(kind, name, "line" if name == "frame" else "", rank=max(0, at + 1 - _KEPT))
        for at, name in enumerate(kind.described)
    ]


def _texts(title: str, values: Sequence[Any], rank: int, **of: Any) -> Column:
    """Texts, and lines of the program with names of files as short as they can be."""
    names = shorten.file_names([printable(value.file) for value in values if isinstance(value, Line)])
    return Column(title, [_text(value, names) for value in values], rank, **{"least": 12, **of})


def _text(value: Any, names: Mapping[str, str]) -> str:
    if isinstance(value, Line):
        return f"{names[printable(value.file)]}:{value.line} in {printable(value.function)}"
    return units.ABSENT if value is None else shorten.signature(printable(str(value)))


def columns(heads: Iterable[Head[Source]], source: Source) -> list[Column]:
    """The columns that have anything to show, in this order."""
    return [head.make(source) for head in heads if head.shown is None or head.shown(source)]


def _for_any(shown: Callable[[Row], object] | None) -> Callable[[Sequence[Row]], bool] | None:
    return None if shown is None else lambda rows: any(map(shown, rows))
