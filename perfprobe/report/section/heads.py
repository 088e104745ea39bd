"""Columns as sections declare them: the title, what it means, and how the column is made, in one place.

`perfprobe explain` and the guides take titles and meanings from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from perfprobe.report.section.block import Column, Head
from perfprobe.report.section.figures import figures

Row = TypeVar("Row")
Source = TypeVar("Source")


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


def columns(heads: Iterable[Head[Source]], source: Source) -> list[Column]:
    """The columns that have anything to show, in this order."""
    return [head.make(source) for head in heads if head.shown is None or head.shown(source)]


def _for_any(shown: Callable[[Row], object] | None) -> Callable[[Sequence[Row]], bool] | None:
    return None if shown is None else lambda rows: any(map(shown, rows))
