"""Fits the columns of a table to a width: drops the least important ones, shortens the long ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from perfprobe.report.shorten import cut

GAP = 2  # between two columns
OPTIONAL = 4  # from this rank on a column gives way before others get uncomfortably narrow


@dataclass(frozen=True)
class Column:
    """One column of text cells, which may have several lines.

    rank: columns of higher rank are dropped first, those of rank 0 never. least: how narrow it may get,
    None for as wide as its longest cell. wish: how narrow it may get while columns of rank OPTIONAL and
    above are there. styles: of each cell, beside `style`; none or one a cell. role: what it shows, where the
    title is another word for that.
    """

    title: str
    cells: Sequence[str]
    rank: int = 0
    least: int | None = None
    wish: int = 0
    align: Literal["left", "right"] = "left"
    style: str = ""
    styles: Sequence[str] = ()
    shorten: Callable[[str, int], str] = cut
    role: str = ""

    @property
    def shows(self) -> str:
        """What it is called within the report, whatever its title."""
        return self.role or self.title

    @cached_property
    def widest(self) -> int:
        """As wide as it likes to be."""
        return max(map(cell_len, [self.title, *"\n".join(self.cells).split("\n")]))

    @property
    def narrowest(self) -> int:
        """As narrow as it may be."""
        return self.widest if self.least is None else min(self.widest, max(self.least, cell_len(self.title)))

    def shortened(self, width: int) -> Sequence[str]:
        """The cells with each of their lines cut to the width."""
        if self.widest <= width:
            return self.cells
        return ["\n".join(self.shorten(line, width) for line in cell.split("\n")) for cell in self.cells]

    @property
    def comfortable(self) -> int:
        """As narrow as it should be."""
        return min(self.widest, max(self.narrowest, self.wish))


class Placed(NamedTuple):
    """A column and the width it got."""

    column: Column
    width: int


def fit(columns: Sequence[Column], width: int) -> list[Placed]:
    """The columns that have room in `width`, and their widths; those of rank 0 stay in any case."""
    kept = list(columns)
    _drop(kept, OPTIONAL, lambda column: column.comfortable, width)
    _drop(kept, 1, lambda column: column.narrowest, width)
    roomy = _sum([column.comfortable for column in kept]) <= width
    widths = [column.comfortable if roomy else column.narrowest for column in kept]
    limits = [column.widest for column in kept]
    while _sum(widths) < width and widths != limits:
        for place in [place for place, limit in enumerate(limits) if widths[place] < limit]:
            widths[place] += 1 if _sum(widths) < width else 0
    return [Placed(column, width) for column, width in zip(kept, widths, strict=True)]


def _drop(kept: list[Column], rank: int, size: Callable[[Column], int], width: int) -> None:
    """Drops columns of at least this rank, the highest first, until the others have room."""
    while _sum([size(column) for column in kept]) > width:
        last = max(kept, key=lambda column: column.rank)
        if last.rank < rank:
            break
        kept.remove(last)


class Lines:
    """The columns as lines of text, every cell shortened to its column's width; drawn fast, however many."""

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
            yield text if at == last else text + " " * GAP


def _segments(styles: Sequence[Style], texts: Iterator[str], console: Console) -> Iterator[Segment]:
    if console.color_system is None:
        yield Segment("".join(texts))
    else:
        yield from map(Segment, texts, styles)
    yield Segment.line()


def table(placed: Sequence[Placed], *, header: bool = True) -> Lines:
    """The columns as a table without rules between them."""
    return Lines(placed, header)


def roomy_width(columns: Sequence[Column]) -> int:
    """How many cells the table needs for no column to be dropped."""
    return _sum([column.comfortable for column in columns])


def total_width(placed: Sequence[Placed]) -> int:
    """How many cells the table takes."""
    return _sum([width for _, width in placed])


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
