"""The box of a function as a table of HTML, which dot draws: a head, and a row for each operator."""

from __future__ import annotations

import textwrap
from html import escape
from typing import NamedTuple

from perfprobe.report import shorten
from perfprobe.report.picture.callgraph.colors import FONT_SIZE, fill
from perfprobe.report.picture.callgraph.lettering import width
from perfprobe.report.picture.callgraph.nodes import Kind, Node
from perfprobe.support import units

_NAME_SIZE = 12
_GREY = "#555555"
_NAME_WIDTH, _SIGNATURE_WIDTH, _OTHERS_WIDTH, _TIP_WIDTH = 30, 26, 44, 1000  # letters
_MOST_LINKS = 3  # names of a chain before the last one
_COLUMNS = 5  # name, line, signature, share, calls
_PADDING = 3
_LEADING = 1.15  # the distance of lines, in parts of the size
TIMES = "×"
BORDERS = {
    Kind.USER: 'BORDER="2" COLOR="#333333"',
    Kind.LIBRARY: 'BORDER="1" COLOR="#777777" STYLE="dashed"',
    Kind.UNPLACED: 'BORDER="1" COLOR="#777777"',
}


class Text(NamedTuple):
    """A piece of a line, which may be the name of a function or grey."""

    text: str
    is_name: bool = False
    is_grey: bool = False

    @property
    def html(self) -> str:
        text = safe(self.text)
        text = f'<FONT POINT-SIZE="{_NAME_SIZE}"><B>{text}</B></FONT>' if self.is_name else text
        return f'<FONT COLOR="{_GREY}">{text}</FONT>' if self.is_grey else text

    @property
    def width(self) -> float:
        return width(self.text, _NAME_SIZE if self.is_name else FONT_SIZE, bold=self.is_name)


class Cell(NamedTuple):
    """A cell of lines. at: how they are aligned. span: columns that it takes."""

    lines: list[list[Text]]
    at: str = "LEFT"
    span: int = 1

    def html(self, color: str) -> str:
        lines = ["".join(piece.html for piece in line if piece.text) for line in self.lines]
        text = f'<BR ALIGN="{self.at}"/>'.join(line for line in lines if line)
        return f'<TD ALIGN="{self.at}" BALIGN="{self.at}" COLSPAN="{self.span}" BGCOLOR="{color}">{text}</TD>'

    @property
    def width(self) -> float:
        return max(sum(piece.width for piece in line) for line in self.lines) + 2 * _PADDING

    @property
    def height(self) -> float:
        lines = sum(any(piece.text for piece in line) for line in self.lines)
        return lines * _NAME_SIZE * _LEADING + 2 * _PADDING


class Table:
    """The box of a node."""

    def __init__(self, node: Node, whole: int, sign: str) -> None:
        """sign: is printed before the calls of functions."""
        self._kind = node.kind
        share = node.spent / whole if node.kind is not Kind.UNPLACED else node.weighs / whole
        common = _common_line(node)
        self.rows = [(_head(node, whole, sign, common), fill(node.kind, share))]
        for each in node.table:
            line = "" if common else _lines(each)
            self.rows.append((_row(each, whole, line), fill(each.kind, each.weighs / whole)))

    def html(self) -> str:
        """The table in the dialect of HTML that dot reads."""
        rows = "".join(
            f"<TR>{''.join(cell.html(color) for cell in cells)}</TR>" for cells, color in self.rows
        )
        look = f'CELLBORDER="0" CELLSPACING="0" CELLPADDING="{_PADDING}"'
        return f"<TABLE {BORDERS[self._kind]} {look}>{rows}</TABLE>"

    @property
    def width(self) -> float:
        """About how wide it is, in points."""
        single = [cells for cells, _ in self.rows if all(cell.span == 1 for cell in cells)]
        columns = [max(cells[at].width for cells in single) for at in range(_COLUMNS)] if single else []
        return max(sum(columns), *(sum(cell.width for cell in cells) for cells, _ in self.rows))

    @property
    def height(self) -> float:
        """About how tall it is, in points."""
        return sum(max(cell.height for cell in cells) for cells, _ in self.rows)


def _head(node: Node, whole: int, sign: str, line: str) -> list[Cell]:
    own = f"own {units.percent(node.own / whole)}" if node.own else ""
    place = [Text(node.place), Text(f" from {line}" if line else "", is_grey=True)]
    return [
        Cell([*([Text(name, is_name=True)] for name in _title(node)), place], span=3),
        Cell([[Text(units.percent(node.weighs / whole))], [Text(own)]], "RIGHT"),
        Cell([[Text(_times(sign, node.times))]], "RIGHT"),
    ]


def _row(node: Node, whole: int, line: str) -> list[Cell]:
    figures = [
        Cell([[Text(units.percent(node.weighs / whole))]], "RIGHT"),
        Cell([[Text(_times("", node.times))]], "RIGHT"),
    ]
    if not node.lines:
        about = textwrap.wrap(node.name, _OTHERS_WIDTH, max_lines=2, placeholder=f" {shorten.ELLIPSIS}")
        return [Cell([[Text(line)] for line in about], span=3), *figures]
    # dot aligns lines of one piece only, so name and line have a cell each.
    name, place = Text(shorten.cut(node.name, _NAME_WIDTH)), Text(line, is_grey=True)
    signature = [[Text(short_signature(node.signature), is_grey=True)], [Text(node.verdict)]]
    return [Cell([[name]]), Cell([[place]]), Cell(signature), *figures]


def _title(node: Node) -> list[str]:
    """The names of a chain, wrapped."""
    links = node.chain
    if len(links) > _MOST_LINKS:
        links = [links[0], shorten.ELLIPSIS, links[-1]]
    lines: list[str] = []
    for name in [*(f"{link} >" for link in links), node.name]:
        if lines and len(lines[-1]) + len(name) < _NAME_WIDTH:
            lines[-1] += f" {name}"
        else:
            lines.append(name)
    return lines


def _common_line(node: Node) -> str:
    """The line that called all operators of the box, if it is in another file."""
    lines = {line for row in node.table for line in row.lines}
    line = lines.pop() if len(lines) == 1 else ""
    return "" if line.startswith(":") else line


def _lines(node: Node) -> str:
    """The line with most of the operator's time, and how many more there are."""
    known = [line for line, _ in node.lines.most_common() if line]
    if not known:
        return ""
    more = len(known) - 1
    return known[0] + (f" +{more} line{'' if more == 1 else 's'}" if more else "")


def short_signature(text: str) -> str:
    """The signature in a few letters: a dtype stands before the first of several tensors that have it."""
    found: list[str] = []
    last = ""
    for item in shorten.split(text, " "):
        dtype, bracket, rest = item.partition("[")
        is_same = bool(bracket) and dtype == last
        last = dtype if bracket else ""
        found.append(bracket + rest if is_same else item)
    short = ""
    for at, item in enumerate(found):
        longer = f"{short} {item}".lstrip()
        if len(longer) + 2 * (at + 1 < len(found)) > _SIGNATURE_WIDTH:
            return f"{short} {shorten.ELLIPSIS}" if short else shorten.cut(item, _SIGNATURE_WIDTH)
        short = longer
    return short


def tooltip(node: Node, whole: int) -> str:
    """The box in words, with whole signatures."""
    lines = [f"{' > '.join([*node.chain, node.name])} {node.place}"]
    for each in node.table:
        phase = " (backward)" if each.kind is Kind.BACKWARD else ""
        name = f"{each.name} {_lines(each)}{phase}: {units.percent(each.weighs / whole)}"
        lines.append(", ".join(part for part in (name, each.signature, each.verdict) if part))
    return shorten.cut("; ".join(lines), _TIP_WIDTH)


def _times(sign: str, times: int) -> str:
    return f"{sign}{units.count(times)}{TIMES}" if times >= 0 else ""


def safe(text: str) -> str:
    """The text for a label of HTML. dot would replace `\\\\G` by the name of the graph."""
    return escape(text).replace("\\", "\\\N{ZERO WIDTH SPACE}")
