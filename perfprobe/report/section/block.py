"""The parts of a section, for every medium: headings, tables, paragraphs, facts.

Styles are words: bold, dim, and names of colours. Widths are in characters; only the medium knows its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from rich.cells import cell_len

from perfprobe.report.rows.choice import Choice
from perfprobe.report.shorten import cut
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings

Source = TypeVar("Source")
BRIEF = 140  # characters; in a smaller width words are abbreviated


class Heading(NamedTuple):
    """A title, and a remark about what follows."""

    title: str
    said: str = ""
    style: str = "bold"


class Paragraph(NamedTuple):
    """A text. indent: blanks before each line. brief: a shorter text for a small width."""

    text: str
    style: str = ""
    indent: int = 0
    brief: str = ""


class Fact(NamedTuple):
    """One of several short texts. longest: the number of characters after which it is cut, None for never."""

    text: str
    style: str = ""
    longest: int | None = None


class Facts(NamedTuple):
    """Facts on a line, or on several if they do not fit. A fact is never broken."""

    facts: Sequence[Fact]


class Aside(str):
    """A piece of a line that is left out if it does not fit, while those behind it may still fit."""

    __slots__ = ()


class Said(NamedTuple):
    """A line of the first screen.

    Attributes:
        pieces: if there is no room, the last ones are left out, and each `Aside` that does not fit.
        whole: whether it is a command, which is never cut: the terminal wraps it.
    """

    label: str
    pieces: Sequence[str]
    style: str = ""
    whole: bool = False


class Blank(NamedTuple):
    """An empty line."""


@frozen
class Column:
    """One column of text cells, which may have several lines.

    rank: columns of higher rank are dropped first, those of rank 0 never. least: its smallest width, None for
    the width of its longest cell. wish: its smallest width as long as columns of rank 4 or more are shown.
    styles: the style of each cell in addition to `style`, empty for none. role: what it shows, if the title
    is another word for that. brief, brief_title: cells and title for a small width; empty if they are the
    same. roomy: from this width on the full cells are used. leaves: characters of the whole width that
    `least` leaves to other columns.
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
    brief: Sequence[str] = ()
    brief_title: str = ""
    roomy: int = BRIEF
    leaves: int = 0

    @property
    def shows(self) -> str:
        """What it shows: the name that code uses for the column, whatever its title."""
        return self.role or self.title

    @cached_property
    def widest(self) -> int:
        """The width that shows all of it."""
        return max(map(cell_len, [self.title, *"\n".join(self.cells).split("\n")]))

    @property
    def narrowest(self) -> int:
        """The smallest possible width."""
        return self.widest if self.least is None else min(self.widest, max(self.least, cell_len(self.title)))

    def shortened(self, width: int) -> Sequence[str]:
        """The cells with each of their lines cut to the width."""
        if self.widest <= width:
            return self.cells
        return ["\n".join(self.shorten(line, width) for line in cell.split("\n")) for cell in self.cells]

    @property
    def comfortable(self) -> int:
        """The smallest width while columns of rank 4 or more are shown."""
        return min(self.widest, max(self.narrowest, self.wish))


class Shown(NamedTuple):
    """How a medium shows a table. left_out: columns that it drops. roomy: the width that shows them all."""

    titles: Sequence[str]
    left_out: Sequence[str] = ()
    roomy: int = 0


class Part(NamedTuple):
    """Rows of a table below a common title, and how many. said: a remark about them, shown in brackets."""

    title: str
    said: str
    rows: int


class Below(NamedTuple):
    """Lines below each row. lines: makes them from the row's number and whether its last cell was cut.

    behind: the lines are indented to after the column with this title, if that is the first one.
    """

    lines: Callable[[int, bool], Iterable[str]]
    behind: str


def nothing(_: Shown) -> Iterator[str]:
    """No notes."""
    return iter(())


@frozen
class Table:
    """A table. notes: makes notes about the figures that are shown.

    whole: the full signature of each row; rows with different ones must not look the same. parts: groups of
    rows. folds: whether long texts continue on the next line instead of being cut. below: lines below rows.
    """

    columns: Sequence[Column]
    notes: Callable[[Shown], Iterable[str]] = nothing
    whole: Sequence[str] = ()
    parts: Sequence[Part] = ()
    folds: bool = False
    below: Below | None = None


Block: TypeAlias = "Heading | Paragraph | Facts | Said | Blank | Table"
Rows: TypeAlias = "Sequence[Any]"


def no_tables(_: Findings, __: Choice) -> dict[str, Rows]:
    """The tables of a section that has none."""
    return {}


@frozen
class Head(Generic[Source]):
    """A column of a section without its cells.

    means: what it shows, in sentences of Markdown. make: makes the column, mostly of a table's rows. shown:
    says whether there is anything to show, None for always.
    """

    title: str
    means: str
    make: Callable[[Source], Column]
    shown: Callable[[Source], bool] | None = None


@frozen
class Section:
    """A part of the report.

    name: one of `support.view.VIEWS`. requires: findings without which it is left out, by type or by the name
    of their table. blocks: makes what it shows. tables: makes its rows, by the names of their tables in JSON.
    shows: optional findings. titles: its headings. guide: the page of docs/ about it. means: what it shows.
    heads: its columns. meanings: titles of further columns, which depend on the data. json: what the tables
    in JSON are. table: the table that it shows as it is, whose declaration has all of these.
    """

    name: str
    requires: tuple[type | str, ...]
    blocks: Callable[[Findings, Choice], Iterable[Block]]
    tables: Callable[[Findings, Choice], dict[str, Rows]] = no_tables
    shows: tuple[type, ...] = ()
    titles: tuple[str, ...] = ()
    guide: str = "report"
    means: str = ""
    heads: Sequence[Head[Any]] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    json: Mapping[str, str] = field(default_factory=dict)
    table: str = ""

    def columns(self) -> dict[str, str]:
        """The titles of all its columns, with what they mean."""
        return {**{head.title: head.means for head in self.heads}, **self.meanings}
