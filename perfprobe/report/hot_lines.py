"""The source view: the lines of the program with most operator time, in the order in which they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from perfprobe.report import columns, shorten
from perfprobe.report.base import Layout
from perfprobe.report.columns import Column
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.report.source_text import SourceText
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings, HotLines
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import GAP_TEXTS, Gap, Line, Trace

TOP = 12
LEAST = 4
SOURCE = 40  # cells that a source line should have
NOTEWORTHY = 0.005  # of operator time
TAB = 4  # blanks that a tab in a source line stands for

_BAR = 8  # cells
_EIGHTHS = " ▏▎▍▌▋▊▉"
_SKIPPED = "⋮"
_HEAT = ((0.1, "bold red"), (0.03, "yellow"))  # of operator time at least, how it is shown
_DIM = "dim"
_NONE = -1  # of a row that is no hot line


@dataclass(frozen=True)
class _Row:
    """A row of the view. at: row of the hot lines, _NONE for what only shows where they are."""

    at: int
    number: str
    text: str


def hot_lines(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """A table for each file; nothing where no operator has a line."""
    lines, hotspots = findings.lines, findings.hotspots
    assert lines is not None
    assert hotspots is not None
    whole_ns = max(hotspots.totals.self_ns, 1)
    placed = lines.take(lines.frame >= 0)
    if len(placed) == 0:
        return
    by_gpu = layout.sort == "gpu"
    if by_gpu:
        placed = placed.take(np.argsort(-placed.gpu_self_ns, kind="stable"))
    shown = placed.take(slice(layout.most(TOP if by_gpu else _usual(placed, whole_ns)) or None))
    share = units.percent(int(shown.self_ns.sum()) / whole_ns)
    number = "1 line" if len(placed) == 1 else f"{len(placed):,} lines"
    if len(shown) < len(placed):
        number = f"{len(shown):,} of {number}"
    elif len(placed) > 1:
        number = f"all {number}"
    yield heading(
        "Hot lines",
        f"{number} by {'time on GPUs' if by_gpu else 'self time'}, {share} of operator time",
        layout.width,
    )
    yield from _files(findings, shown, whole_ns, layout.width)
    if len(placed) < len(lines):
        yield paragraph(
            f"Without a line: {_without(lines.take(lines.frame < 0), whole_ns)}.", layout.width, _DIM
        )


def _usual(lines: HotLines, whole_ns: int) -> int:
    """How many lines to show: not those with next to nothing, unless all have little."""
    warm = int(np.count_nonzero(lines.self_ns >= NOTEWORTHY * whole_ns))
    return min(max(warm, LEAST), TOP)


def _without(lines: HotLines, whole_ns: int) -> str:
    return ", ".join(
        f"{units.percent(self_ns / whole_ns)} ({GAP_TEXTS[Gap(gap)]})"
        for self_ns, gap in zip(lines.self_ns.tolist(), lines.gap.tolist(), strict=True)
    )


def _files(findings: Findings, shown: HotLines, whole_ns: int, width: int) -> Iterator[RenderableType]:
    """The file with most self time first; the columns are as wide in each."""
    trace, sources = findings.trace, SourceText(findings)
    places = [trace.line(frame) for frame in shown.frame.tolist()]
    of_file: dict[str, list[tuple[Line, int]]] = {}
    for at, place in enumerate(places):
        if place is not None:
            of_file.setdefault(place.file, []).append((place, at))
    files = sorted(of_file, key=lambda file: -sum(int(shown.self_ns[at]) for _, at in of_file[file]))
    names = shorten.file_names([printable(file) for file in files])
    rows = {file: _rows(sorted(of_file[file]), sources) for file in files}
    every = [row for file in files for row in rows[file]]
    fitted = columns.fit(_columns(trace, shown, every, whole_ns, width), width)
    first = 0
    for file in files:
        reason = sources.reason(file)
        yield Text.assemble((names[printable(file)], "bold cyan"), (f"  ({reason})" if reason else "", _DIM))
        part = slice(first, first + len(rows[file]))
        table = [
            columns.Placed(replace(column, cells=column.cells[part], styles=column.styles[part]), cells)
            for column, cells in fitted
        ]
        yield columns.table(table, header=first == 0)
        first = part.stop


def _rows(lines: Sequence[tuple[Line, int]], sources: SourceText) -> list[_Row]:
    """The lines of a file, with what lies between them: one line as it is, more of them as a mark."""
    found: list[_Row] = []
    last: Line | None = None
    for line, at in lines:
        if last is None or line.line - last.line > 2 or line.function != last.function:
            function = "" if last is not None and line.function == last.function else printable(line.function)
            found.append(
                _Row(_NONE, _SKIPPED if last is not None else "", f"in {function}" if function else "")
            )
        elif line.line - last.line == 2:
            between = sources.text(line.file, line.line - 1)
            found.append(_Row(_NONE, str(line.line - 1), between or ""))
        found.append(_Row(at, str(line.line), sources.text(line.file, line.line) or ""))
        last = line
    return _dedented(found)


def _dedented(rows: list[_Row]) -> list[_Row]:
    """The texts made printable, without the blanks that all source lines begin with."""
    texts = [row.text.expandtabs(TAB) for row in rows]
    source = [text for row, text in zip(rows, texts, strict=True) if row.number.isdigit() and text.strip()]
    margin = min((len(text) - len(text.lstrip()) for text in source), default=0)
    return [
        replace(row, text=printable(text[margin:] if row.number.isdigit() else text).rstrip())
        for row, text in zip(rows, texts, strict=True)
    ]


def _columns(trace: Trace, shown: HotLines, rows: Sequence[_Row], whole_ns: int, width: int) -> list[Column]:
    shares = [int(shown.self_ns[row.at]) / whole_ns if row.at != _NONE else _NONE for row in rows]
    hottest = max(shares)
    heat = [_style(share) for share in shares]

    def times(title: str, column: Int64, rank: int) -> Column:
        cells = ["" if row.at == _NONE else _time(int(column[row.at])) for row in rows]
        return Column(title, cells, rank, align="right")

    phases = (
        ("forward", shown.forward_ns, 7),
        ("backward", shown.backward_ns, 6),  # says most beside the sum, and stays longest
        ("recompute", shown.recompute_ns, 7),
        ("other", shown.other_ns, 8),
    )
    digits = max(4, *(len(row.number) for row in rows))
    texts = [row.text for row in rows]
    operators = ["" if row.at == _NONE else _operator(trace, shown, row.at) for row in rows]
    found = [
        Column(
            "share",
            ["" if share == _NONE else units.percent(share) for share in shares],
            align="right",
            styles=heat,
        ),
        times("self", shown.self_ns, 1),
        *([times("gpu", shown.gpu_self_ns, 1)] if bool((shown.gpu_self_ns >= 0).any()) else []),
        *(times(*phase) for phase in phases if bool(phase[1].any())),
        Column("", [_bar(share / hottest) if share > 0 else "" for share in shares], 2, styles=heat),
        Column("line", [row.number.rjust(digits) for row in rows], style=_DIM),
        Column("source", texts, least=min(SOURCE, width - 24), styles=heat),
        Column("hottest operator there", operators, 5, least=24, style=_DIM),
    ]
    return found


def _style(share: float) -> str:
    if share == _NONE:
        return _DIM
    return next((style for least, style in _HEAT if share >= least), "")


def _time(time_ns: int) -> str:
    return units.duration(time_ns) if time_ns > 0 else ""


def _bar(fraction: float) -> str:
    eighths = max(round(fraction * _BAR * 8), 1)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _operator(trace: Trace, shown: HotLines, at: int) -> str:
    strings = trace.recording[Strings]
    parts = [strings[shown.name[at]].removeprefix("aten::"), strings[shown.overload[at]]]
    signature = trace.signature(int(shown.signature[at]))
    text = ".".join(part for part in parts if part)
    return printable(text if signature is None else f"{text} {shorten.signature(signature)}")
