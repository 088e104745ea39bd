"""Fits the columns of a table to a width: drops the least important ones, shortens the long ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from perfprobe.report.section.block import Column

BETWEEN = 2  # between two columns
OPTIONAL = 4  # columns of this rank or more are dropped before others become too narrow to read


class Placed(NamedTuple):
    """A column and the width it got."""

    column: Column
    width: int


def fit(columns: Sequence[Column], width: int) -> list[Placed]:
    """The columns that have room in `width` cells, and their widths. Those of rank 0 always stay."""
    kept = list(columns)
    _drop(kept, OPTIONAL, lambda column: column.comfortable, width)
    _drop(kept, 1, lambda column: column.narrowest, width)
    roomy = _sum([column.comfortable for column in kept]) <= width
    widths = [column.comfortable if roomy else column.narrowest for column in kept]
    limits = [column.widest for column in kept]
    _grow(widths, limits, width)
    taken = [_taken(column, width) for column, width in zip(kept, widths, strict=True)]
    if taken != widths:  # give what a column does not use to the others
        limits = [
            limit if used == given else used for limit, used, given in zip(limits, taken, widths, strict=True)
        ]
        _grow(taken, limits, width)
    return [Placed(column, width) for column, width in zip(kept, taken, strict=True)]


def _grow(widths: list[int], limits: Sequence[int], width: int) -> None:
    """Widen the columns in turn, up to their limits, until all of the width is used."""
    while _sum(widths) < width and widths != limits:
        for place in [place for place, limit in enumerate(limits) if widths[place] < limit]:
            widths[place] += 1 if _sum(widths) < width else 0


def _taken(column: Column, width: int) -> int:
    """Returns how many cells of this width the column uses: fewer if whole words are left out."""
    if width >= column.widest:
        return width
    lines = (line for cell in column.shortened(width) for line in cell.split("\n"))
    return max([cell_len(column.title), *map(cell_len, lines)])


def _drop(kept: list[Column], rank: int, size: Callable[[Column], int], width: int) -> None:
    """Drop columns of at least this rank, the highest first, until the others have room."""
    while _sum([size(column) for column in kept]) > width:
        last = max(kept, key=lambda column: column.rank)
        if last.rank < rank:
            break
        kept.remove(last)


class Lines:
    """The columns as lines of text, every cell shortened to its column's width; faster than rich.Table."""

    def __init__(self, placed: Sequence[Placed], header: bool) -> None:
        self._placed = placed
        self._header = header

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Called by rich."""
        styles = [Style.parse(column.style) for column, _ in self._placed]
        if self._header:
            titles = self._padded([column.title for column, _ in self._placed])
            yield from _segments([Style(bold=True)] * len(styles), titles, console)
        shortened = [column.shortened(width) for column, width in self._placed]
        for row, cells in enumerate(zip(*shortened, strict=True)):
            of_row = [
                style + Style.parse(column.styles[row]) if column.styles else style
                for style, (column, _) in zip(styles, self._placed, strict=True)
            ]
            for line in zip_longest(*(cell.split("\n") for cell in cells), fillvalue=""):
                yield from _segments(of_row, self._padded(line), console)

    def _padded(self, cells: Sequence[str]) -> Iterator[str]:
        last = len(cells) - 1
        for at, (cell, (column, width)) in enumerate(zip(cells, self._placed, strict=True)):
            blank = " " * (width - cell_len(cell))
            text = f"{blank}{cell}" if column.align == "right" else f"{cell}{blank}"
            yield text if at == last else text + " " * BETWEEN


def _segments(styles: Sequence[Style], texts: Iterator[str], console: Console) -> Iterator[Segment]:
    if console.color_system is None:
        yield Segment("".join(texts))
    else:
        yield from map(Segment, texts, styles)
    yield Segment.line()


def table(placed: Sequence[Placed], *, header: bool = True) -> Lines:
    """The columns as a table without lines between them."""
    return Lines(placed, header)


def roomy_width(columns: Sequence[Column]) -> int:
    """Returns how many cells the table needs to keep all columns."""
    return _sum([column.comfortable for column in columns])


def total_width(placed: Sequence[Placed]) -> int:
    """Returns how many cells the table takes."""
    return _sum([width for _, width in placed])


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + BETWEEN * (len(widths) - 1)
