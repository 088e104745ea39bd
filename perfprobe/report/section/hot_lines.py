"""The source view: the lines of the program with most operator time, in source order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from perfprobe.models.source_text import SourceText
from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.lines import LineRow, line_rows, placed_lines
from perfprobe.report.rows.named import OF_ROW, is_named
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Part, Section, Table
from perfprobe.report.section.figures import figures, marked
from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotLines, Hotspots
from perfprobe.tables.trace import NO_LINE_TEXTS, Line, NoLine

TOP = 12
LEAST = 4
SOURCE = 40  # characters that a source line should have
_BESIDE_SOURCE = 24  # characters that a source line leaves to other columns
TAB = 4  # blanks for a tab in a source line

_BAR = 8  # cells of the longest bar
_PHASE_RANK = 7  # ranks of columns: the higher are dropped first
_EIGHTHS = " ▏▎▍▌▋▊▉"
_SKIPPED = "⋮"
_HEAT = ((0.1, "bold red"), (0.03, "yellow"))  # smallest share of operator time, and the style
_DIM = "dim"


@frozen
class _Line:
    """A line of the view. row: None for lines that are only context."""

    row: LineRow | None
    number: str
    text: str


def line_tables(findings: Findings, choice: Choice) -> dict[str, Sequence[Any]]:
    """`lines`."""
    lines = findings[HotLines].take(slice(choice.top or None))
    return {"lines": line_rows(findings, SourceText(findings), lines)}


def hot_lines(findings: Findings, choice: Choice) -> Iterator[Block]:
    """A table with a part for each file; nothing if no operator has a line."""
    lines, whole_ns = findings[HotLines], max(findings[Hotspots].totals.self_ns, 1)
    placed = placed_lines(findings, choice.sort)
    if len(placed) == 0:
        return
    by_gpu = choice.sort == "gpu"
    sources = SourceText(findings)
    chosen = placed.take(slice(choice.most(TOP if by_gpu else usual(placed, whole_ns)) or None))
    shown = line_rows(findings, sources, chosen)
    share = units.percent(sum(row.self_ns for row in shown) / whole_ns)
    number = "1 line" if len(placed) == 1 else f"{len(placed):,} lines"
    if len(shown) < len(placed):
        number = f"{len(shown):,} of {number}"
    elif len(placed) > 1:
        number = f"all {number}"
    yield Heading(
        "Hot lines", f"{number} by {'time on GPUs' if by_gpu else 'self time'}, {share} of operator time"
    )
    yield source_view(shown, sources, shorten.file_names)
    if len(placed) < len(lines):
        yield Paragraph(f"Without a line: {_without(lines.take(lines.frame < 0), whole_ns)}.", _DIM)


def usual(lines: HotLines, whole_ns: int) -> int:
    """Returns how many lines to show. Negligible lines count only if all lines are negligible."""
    warm = sum(is_named(self_ns, whole_ns, OF_ROW) for self_ns in lines.self_ns.tolist())
    return min(max(warm, LEAST), TOP)


def _without(lines: HotLines, whole_ns: int) -> str:
    return ", ".join(
        f"{units.percent(self_ns / whole_ns)} ({NO_LINE_TEXTS[NoLine(no_line)]})"
        for self_ns, no_line in zip(lines.self_ns.tolist(), lines.no_line.tolist(), strict=True)
    )


def source_view(
    shown: Sequence[LineRow], sources: SourceText, file_names: Callable[[Sequence[str]], dict[str, str]]
) -> Table:
    """The lines with their text by file, the file with most self time first. file_names: short names."""
    of_file: dict[str, list[LineRow]] = {}
    for row in shown:
        if row.line is not None:
            of_file.setdefault(row.line.file, []).append(row)
    files = sorted(of_file, key=lambda file: -sum(row.self_ns for row in of_file[file]))
    names = file_names([printable(file) for file in files])
    lines = {file: _lines(of_file[file], sources) for file in files}
    parts = [Part(names[printable(file)], sources.reason(file) or "", len(lines[file])) for file in files]
    return Table(_columns([line for file in files for line in lines[file]]), parts=parts)


def _lines(rows: Sequence[LineRow], sources: SourceText) -> list[_Line]:
    """The lines of a file. A single line between two is shown too, several lines as a mark."""
    found: list[_Line] = []
    last: Line | None = None
    for line, row in sorted(((row.line, row) for row in rows if row.line is not None), key=itemgetter(0)):
        if last is None or line.line - last.line > 2 or line.function != last.function:
            function = "" if last is not None and line.function == last.function else printable(line.function)
            found.append(
                _Line(None, _SKIPPED if last is not None else "", f"in {function}" if function else "")
            )
        elif line.line - last.line == 2:
            between = sources.text(line.file, line.line - 1)
            found.append(_Line(None, str(line.line - 1), between or ""))
        found.append(_Line(row, str(line.line), row.source or ""))
        last = line
    return _dedented(found)


def _dedented(rows: list[_Line]) -> list[_Line]:
    """The texts made printable, without their common indentation."""
    texts = [row.text.expandtabs(TAB) for row in rows]
    source = [text for row, text in zip(rows, texts, strict=True) if row.number.isdigit() and text.strip()]
    margin = min((len(text) - len(text.lstrip()) for text in source), default=0)
    return [
        replace(row, text=printable(text[margin:] if row.number.isdigit() else text).rstrip())
        for row, text in zip(rows, texts, strict=True)
    ]


def _columns(lines: Sequence[_Line]) -> list[Column]:
    rows = [line.row for line in lines]
    hottest = max(row.share for row in rows if row is not None)
    styles = [_DIM if row is None else heat(row.share) for row in rows]

    def times(title: str, name: str, rank: int) -> Column:
        return figures(title, ("" if row is None else _time(getattr(row, name)) for row in rows), rank)

    phases = (
        ("forward", "forward_ns", _PHASE_RANK),
        ("backward", "backward_ns", 6),  # the most useful one beside the sum, so it is dropped last
        ("recompute", "recompute_ns", _PHASE_RANK),
        ("other", "other_ns", _rank_of_other(lines)),
    )
    known = [row for row in rows if row is not None]
    has_gpu = any(row.gpu_self_ns is not None for row in known)
    digits = max(4, *(len(line.number) for line in lines))
    return [
        replace(
            figures("share", ("" if row is None else units.percent(row.share) for row in rows)), styles=styles
        ),
        figures(
            "self",
            marked(
                ["" if row is None else _time(row.self_ns) for row in rows],
                [row is not None and row.misleads for row in rows],
            ),
            1,
        ),
        *([times("gpu", "gpu_self_ns", 1)] if has_gpu else []),
        *(times(*phase) for phase in phases if any(getattr(row, phase[1]) for row in known)),
        Column(
            "", [_bar(row.share / hottest) if row and row.share > 0 else "" for row in rows], 2, styles=styles
        ),
        Column("line", [line.number.rjust(digits) for line in lines], style=_DIM),
        Column("source", [line.text for line in lines], least=SOURCE, leaves=_BESIDE_SOURCE, styles=styles),
        Column(
            "hottest operator there",
            ["" if row is None else _operator(row) for row in rows],
            5,
            least=24,
            style=_DIM,
        ),
    ]


def _rank_of_other(lines: Sequence[_Line]) -> int:
    """The rank of the column `other`: lower than the phases' if some lines would have only empty cells."""
    alone = any(line.row is not None and line.row.other_ns == line.row.self_ns > 0 for line in lines)
    return _PHASE_RANK - 2 if alone else _PHASE_RANK + 1


def heat(share: float) -> str:
    """The style of a row with this share of operator time."""
    return next((style for least, style in _HEAT if share >= least), "")


def _time(time_ns: int | None) -> str:
    return units.duration(time_ns) if time_ns else ""


def _bar(fraction: float) -> str:
    eighths = max(round(fraction * _BAR * 8), 1)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _operator(row: LineRow) -> str:
    parts = [(row.operator or "").removeprefix("aten::"), row.overload]
    text = ".".join(part for part in parts if part)
    return printable(text if row.signature is None else f"{text} {shorten.signature(row.signature)}")


_MEANINGS: dict[str, str] = {
    "share": "The row's share of all operators' self time.",
    "self": "Self time of all operators that were called from this line, forward and backward together.",
    "gpu": "Time on GPUs of what these operators launched.",
    "forward": "Share of the self time that passed in forward.",
    "backward": "Share of the self time that passed in backward, at the line of the forward call.",
    "recompute": "Share of the self time in which backward ran forward code again (checkpoint).",
    "other": "Share of the self time in all other phases: optimizer, data, inference without modules.",
    "line": "Number of the line in its file.",
    "source": "Text of the line.",
    "hottest operator there": "The operator with the most self time at this line.",
}

LINES = Section(
    "lines",
    (Hotspots, HotLines),
    hot_lines,
    line_tables,
    titles=("Hot lines",),
    means="The lines of your files with most operator time, in file order, with their text.",
    meanings=_MEANINGS,
    json={
        "lines": "The section *lines*.",
    },
)
