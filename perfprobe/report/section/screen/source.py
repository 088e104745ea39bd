"""The text of the line that SLOW names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from perfprobe.models.source_text import SourceText
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import first_line
from perfprobe.report.shorten import place
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.trace import Line

_TAB = 4
_LOOP = re.compile(r"\s*(async )?(for|while)\b")
_FUNCTION = re.compile(r"\s*(async )?(def|class)\b")


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


def loop_line(findings: Findings, line: Line) -> Iterator[ScreenRow]:
    """The Python loop around a line within its function, unless it is the one whose steps are counted."""
    lines = SourceText(findings, below_this_folder=True).lines(line.file) or []
    number = _loop_around(lines, line.line)
    times = findings.get(StepTimes)
    leading = [] if times is None else times.loops.frame[:1].tolist()
    is_leading = [findings.trace.line(frame) for frame in leading] == [line._replace(line=number)]
    if number and not is_leading:
        yield said("", f"in the loop of line {number}: {printable(lines[number - 1].strip())}")


def _loop_around(lines: Sequence[str], number: int) -> int:
    """The line with the innermost `for` or `while` around a line, by indentation; 0 if there is none."""
    if not 0 < number <= len(lines):
        return 0
    margin = _margin(lines[number - 1])
    for at in range(number - 1, 0, -1):
        text = lines[at - 1]
        if not text.strip() or _margin(text) >= margin:
            continue
        margin = _margin(text)
        if _LOOP.match(text):
            return at
        if _FUNCTION.match(text):
            return 0
    return 0


def _margin(text: str) -> int:
    text = text.expandtabs(_TAB)
    return len(text) - len(text.lstrip())
