"""Text wrapped to a width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from perfprobe.report.shorten import cut

SEPARATOR = " · "
LONGEST = 1000  # cells of a paragraph
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|(?:[num]?s|[KMGT]?i?B)\b)")
_UNBROKEN = "\N{NO-BREAK SPACE}"


def paragraph(text: str, width: int, style: str = "") -> Text:
    """The text in lines of at most `width` cells. A line never ends between a figure and its unit."""
    whole = _BEFORE_UNIT.sub(_UNBROKEN, cut(text, LONGEST))
    lines = textwrap.wrap(whole, width, break_on_hyphens=False)
    return Text("\n".join(lines).replace(_UNBROKEN, " "), style=style)


def indented(text: str, width: int, indent: int) -> Text:
    """The text in lines of at most `width` cells, each line indented."""
    blank = " " * indent
    return Text(blank + paragraph(text, width - indent).plain.replace("\n", f"\n{blank}"))


def heading(title: str, more: str, width: int, style: str = "bold") -> Text:
    """The title of a section and a remark, on the same line if it fits."""
    bold = Text(title, style=style)
    if cell_len(title) + 2 + cell_len(more) > width:
        return Text.assemble(bold, "\n", paragraph(more, width, "dim"))
    return Text.assemble(bold, "  ", (more, "dim"))


def joined(pieces: Sequence[Text], width: int) -> Text:
    """The pieces on one line, or on several if they do not fit. A piece is never broken."""
    lines: list[list[Text]] = [[]]
    used = 0
    for piece in pieces:
        length = cell_len(piece.plain) + len(SEPARATOR)
        if lines[-1] and used + length - len(SEPARATOR) > width:
            lines.append([])
            used = 0
        lines[-1].append(piece)
        used += length
    parts: list[Text | tuple[str, str]] = []
    for line in lines:
        for piece in line:
            parts += [piece, (SEPARATOR, "dim")]
        parts[-1] = ("\n", "")
    return Text.assemble(*parts[:-1])
