"""The column of lines in the user's code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.cells import cell_len

from perfprobe.report import shorten
from perfprobe.report.section.block import Column
from perfprobe.support.text import printable
from perfprobe.tables.trace import Line

_LEAST_NAME = 6  # fewer letters of a function's name are not worth showing


class HasLines(Protocol):
    """Rows with lines of the user's code."""

    @property
    def line(self) -> Line | None:
        """The line of its own Python."""

    @property
    def forward(self) -> Line | None:
        """The line of the forward call."""

    @property
    def reason(self) -> str | None:
        """Why there is no line."""


def line_column(rows: Sequence[HasLines], function: int = 6) -> Column:
    """The lines in the user's code: `file.py:88 in attention`, the place itself never cut.

    function: characters that the function should have while there are columns to drop.
    """
    lines = Lines(rows)
    least = lines.least
    return Column("line", lines.cells, least=least, wish=least + function, shorten=cut_function, style="cyan")


class Lines:
    """The cells of the line column: `file.py:88 in attention`; in `own` only `file.py:88`, "" for none.

    If Python ran in backward, the cell has its own line, with that of the forward call below it. If there is
    no line of the call itself, it has the reason. least: characters of the longest place.
    """

    def __init__(self, rows: Sequence[HasLines]) -> None:
        known = [line for row in rows for line in (row.line, row.forward) if line is not None]
        self._names = shorten.file_names([printable(line.file) for line in known])
        self._places: list[str] = []  # `file.py:88`, never cut
        self.cells = [self._cell(row) for row in rows]
        self.own = ["" if row.line is None else self._place(row.line) for row in rows]
        self.least = max((cell_len(place) for place in self._places), default=8)

    def _cell(self, row: HasLines) -> str:
        if row.line is None:
            return f"({row.reason or ''})"
        if row.reason:
            return f"{self._text('', row.line)}\n({row.reason})"
        if row.forward is None or row.forward == row.line:
            return self._text("", row.line)
        return f"{self._text('', row.line)}\n{self._text('forward ', row.forward)}"

    def _text(self, before: str, line: Line) -> str:
        place = f"{before}{self._place(line)}"
        self._places.append(place)
        return f"{place} in {printable(line.function)}"

    def _place(self, line: Line) -> str:
        return f"{self._names[printable(line.file)]}:{line.line}"


def cut_function(text: str, width: int) -> str:
    """The text of a line, `file.py:88 in attention`, cut to a width. Only the function's name is cut."""
    place, word, function = text.partition(" in ")
    room = width - cell_len(place) - len(word)
    if not word or room >= cell_len(function):
        return shorten.cut(text, width)
    return f"{place}{word}{shorten.cut(function, room)}" if room >= _LEAST_NAME else place
