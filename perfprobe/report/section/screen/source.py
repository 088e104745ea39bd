"""The text of the line that SLOW names."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.source_text import SourceText
from perfprobe.report.section.screen.places import first_line
from perfprobe.report.shorten import place
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings

_TAB = 4


def source_line(findings: Findings, slow: ScreenRow) -> Iterator[ScreenRow]:
    """The text of SLOW's line, if its file is below the current folder and as it was when recording began.

    It has the place before it, unless SLOW begins with that. Nothing if only the first line of a function is
    known: it says nothing about what is slow.
    """
    line = slow.line
    if line is None or first_line(line):
        return
    text = SourceText(findings, below_this_folder=True).text(line.file, line.line)
    if text is not None and text.strip():
        before = "" if slow.pieces[0].startswith(place(line)) else f"{place(line)}  "
        yield said("", f"{before}{printable(text.strip().expandtabs(_TAB))}", line=line)
