"""The text of the line that SLOW names."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.source_text import SourceText
from perfprobe.report.section.screen.places import first_line
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line

_TAB = 4


def source_line(findings: Findings, line: Line | None) -> Iterator[ScreenRow]:
    """The line's text, if its file is below the current folder and as it was when the recording began.

    Nothing if only the first line of a function is known: it says nothing about what is slow.
    """
    if line is None or first_line(line):
        return
    text = SourceText(findings, below_this_folder=True).text(line.file, line.line)
    if text is not None and text.strip():
        yield said("", printable(text.strip().expandtabs(_TAB)), line=line)
