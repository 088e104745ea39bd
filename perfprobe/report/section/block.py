"""The parts of a section, for every medium: headings, tables, paragraphs, facts.

Styles are words: bold, dim, and names of colours. Widths are characters; the medium knows how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from rich.cells import cell_len

from perfprobe.report.rows.choice import Choice
from perfprobe.report.shorten import cut
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings

BRIEF = 140  # characters; in a smaller width words are abbreviated


class Heading(NamedTuple):
    """A title, and a remark about what follows."""

    title: str
    said: str = ""
    style: str = "bold"


class Paragraph(NamedTuple):
    """A text. indent: blanks before each line; brief: the text where there is little room."""

    text: str
    style: str = ""
    indent: int = 0
    brief: str = ""


class Fact(NamedTuple):
    """One of several short texts. longest: characters after which it is cut, None for never."""

    text: str
    style: str = ""
    longest: int | None = None


class Facts(NamedTuple):
    """Facts on a line, or on several where they do not fit; never broken within one."""

    facts: Sequence[Fact]


class Said(NamedTuple):
    """A line of the first screen. pieces: the last ones are left out where there is no room."""

    label: str
    pieces: Sequence[str]
    style: str = ""


class Blank(NamedTuple):
    """An empty line."""


@frozen
class Column:
    """One column of text cells, which may have several lines.

    rank: columns of higher rank are dropped first, those of rank 0 never. least: its smallest width,
    None for that of its longest cell. wish: its smallest width while columns of rank 4 and above are
    there. styles: of each cell, beside `style`; none or one a cell. role: what it shows, where the title is
    another word for that. brief: the cells where there is little room, empty if they are the same. leaves:
    characters of the whole width that `least` leaves to others. brief_title: its title there; roomy: from so
    many characters on there is room.
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
        """Its name within the report, independent of its title."""
        return self.role or self.title

    @cached_property
    def widest(self) -> int:
        """The preferred width."""
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
        """The smallest comfortable width."""
        return min(self.widest, max(self.narrowest, self.wish))


class Shown(NamedTuple):
    """How a medium shows a table. left_out: columns; roomy: the width at which none would be left out."""

    titles: Sequence[str]
    left_out: Sequence[str] = ()
    roomy: int = 0


class Part(NamedTuple):
    """Rows of a table below a common title, and their number. said: a remark about them, in brackets."""

    title: str
    said: str
    rows: int


class Below(NamedTuple):
    """Lines below each row. lines: makes them from the row's place and whether its last cell was cut.

    behind: the title of the column after which they begin, if it is the first one.
    """

    lines: Callable[[int, bool], Iterable[str]]
    behind: str


def nothing(_: Shown) -> Iterator[str]:
    """No notes."""
    return iter(())


@frozen
class Table:
    """A table. notes: what its shown figures do not include.

    whole: the full signature of each row: rows that differ in it must not look the same. parts: rows that
    belong together. folds: long texts continue below rather than being cut. below: lines below each row.
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
    """A section without rows of its own."""
    return {}


@frozen
class Section:
    """A part of the report.

    name: one of `support.view.VIEWS`; requires: findings without which it is left out, by type or by the name
    of their table; blocks: what it shows; tables: its rows, by the names of their tables in documents;
    shows: optional findings.
    """

    name: str
    requires: tuple[type | str, ...]
    blocks: Callable[[Findings, Choice], Iterable[Block]]
    tables: Callable[[Findings, Choice], dict[str, Rows]] = no_tables
    shows: tuple[type, ...] = ()
