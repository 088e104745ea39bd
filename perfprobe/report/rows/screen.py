"""Lines of the first screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from perfprobe.report.rows.row import place, unwritten
from perfprobe.support.frozen import frozen
from perfprobe.tables.trace import Line


@frozen(kw_only=True)
class ScreenRow:
    """The text of one label. label: "" for a continuation line, and for the first line.

    text: the whole text. pieces: its parts; the last ones are left out if there is no room. time_ns, share:
    the figure of a step that the text is about, if there is one. line: the place that it names. whole:
    whether it is a command, which is never cut.
    """

    label: str
    text: str
    time_ns: int | None = None
    share: float | None = None
    line: Line | None = place()
    pieces: Sequence[str] = unwritten()
    style: str = unwritten()
    whole: bool = unwritten()


def said(label: str, *pieces: str, style: str = "", whole: bool = False, **facts: Any) -> ScreenRow:
    """A row with these pieces. facts: time_ns, share, line."""
    known = {"time_ns": None, "share": None, "line": None, **facts}
    return ScreenRow(label=label, text="".join(pieces), pieces=pieces, style=style, whole=whole, **known)


def listed(texts: Iterable[str], first: str = "", between: str = ", ") -> Iterator[str]:
    """The pieces of a row that lists these texts. first: text before the list."""
    for at, text in enumerate(texts):
        yield f"{between if at else first}{text}"
