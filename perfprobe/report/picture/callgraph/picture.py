"""The look of a call graph: gprof2dot's writer with a table for each function, and a legend."""

from __future__ import annotations

from io import StringIO
from typing import Any

from gprof2dot import DotWriter, Profile

from perfprobe.report.picture.callgraph.colors import FONT, FONT_SIZE, HEAT, SCALE, fill
from perfprobe.report.picture.callgraph.layout import DPI, WIDEST, Page
from perfprobe.report.picture.callgraph.nodes import Kind, Link, Node
from perfprobe.report.picture.callgraph.table import BORDERS, TIMES, safe, tooltip
from perfprobe.support import units
from perfprobe.support.frozen import frozen

_EDGE, _NOTE = "#888888", "#555555"


@frozen
class Captions:
    """The words of a picture. whole: the weight that is 100 %. sign: stands before the calls of functions.

    notes: lines below the graph. is_bounded: whether it has to fit a page.
    """

    title: str
    notes: list[str]
    whole: int
    sign: str
    is_bounded: bool


def dot(profile: Profile, captions: Captions) -> str:
    """The graph in the DOT language. profile: of boxes."""
    out = StringIO()
    _Writer(out, profile, captions).graph(profile, HEAT)
    return out.getvalue()


class _Html(str):
    """A label that dot reads as HTML."""


class _Writer(DotWriter):
    """gprof2dot's writer, with a table for each node."""

    show_function_events = ()
    show_edge_events = ()

    def __init__(self, out: StringIO, profile: Profile, captions: Captions) -> None:
        super().__init__(out)
        self._captions = captions
        self._nodes: dict[int, Node] = profile.functions
        page = Page(profile, captions.whole, captions.sign, is_bounded=captions.is_bounded)
        self._tables, self._rows = page.tables, page.rows
        self._callers = {number: 0 for number in self._nodes}
        for node in self._nodes.values():
            for callee in node.calls:
                self._callers[callee] += 1

    def begin_graph(self) -> None:
        super().begin_graph()
        notes = "".join(f'{safe(line)}<BR ALIGN="LEFT"/>' for line in self._captions.notes)
        self.attr("graph", label=self._heading(), labelloc="t", fontsize=FONT_SIZE, dpi=DPI, charset="UTF-8")
        if self._captions.is_bounded:
            self.attr("graph", size=f"{WIDEST / DPI},1000")
        # Bounds on how long dot looks for a better layout.
        self.attr("graph", nslimit=10, nslimit1=10, ranksep=0.3, nodesep=0.15, fontname=FONT)
        self.write("subgraph cluster_all {\n")
        label = _Html(f'<FONT COLOR="{_NOTE}">{notes}</FONT>')
        self.attr("graph", label=label, labelloc="b", labeljust="l", color="white", fontname=FONT, margin=4)

    def end_graph(self) -> None:
        self._place_tops()
        self.write("}\n")
        super().end_graph()

    def _place_tops(self) -> None:
        """Put boxes that nobody calls into their rows, each below one in the row above."""
        above = {row: number for number, row in self._rows.items()}
        for number, row in self._rows.items():
            if row and not self._callers[number]:
                super().edge(above[row - 1], number, style="invis", weight=0)

    def node(self, node: int, **attrs: Any) -> None:
        tip = tooltip(self._nodes[node], self._captions.whole)
        label = _Html(self._tables[node].html())
        look = {"shape": "none", "style": "solid", "margin": 0, "fontsize": FONT_SIZE}
        super().node(node, label=label, tooltip=tip, **look)

    def edge(self, src: int, dst: int, **attrs: Any) -> None:
        link = self._nodes[src].calls[dst]
        label = self._figures(link) if self._callers[dst] > 1 or src == dst else None
        look = {"color": _EDGE, "fontcolor": _NOTE, "label": label, "fontsize": FONT_SIZE}
        attrs = {**attrs, **look}
        length = self._rows[dst] - self._rows[src]
        if length > 0 or src == dst:
            super().edge(src, dst, **attrs, minlen=length or None)
        elif length == 0:
            super().edge(src, dst, **attrs, constraint="false")
        else:  # to dot it leads down like all others, so that boxes stay in their rows
            super().edge(dst, src, **attrs, minlen=-length, dir="back")

    def _figures(self, link: Link) -> str:
        times = f"  {self._captions.sign}{units.count(link.times)}{TIMES}" if link.times >= 0 else ""
        return f" {units.percent(link.weighs / self._captions.whole)}{times}"

    def id(self, id: int | float | str) -> None:
        # gprof2dot leaves plain words unquoted, some of which are keywords of DOT.
        if isinstance(id, _Html):
            self.write(f"<{id}>")
        else:
            self.write(self.escape(id) if isinstance(id, str) else str(id))

    def escape(self, s: str) -> str:
        return str(super().escape(s.replace("&", "&amp;")))

    def _heading(self) -> _Html:
        """The title, and below it what colours and borders mean, to stand above the graph."""
        nodes = self._nodes.values()
        phases = {row.kind for node in nodes for row in node.table}
        cells = _scale(Kind.OPERATOR, "own share with operators")
        cells += _scale(Kind.BACKWARD, "in backward") if Kind.BACKWARD in phases else ""
        for kind in BORDERS:
            if any(node.kind is kind for node in nodes):
                cells += f"<TD><TABLE {BORDERS[kind]} {_PLAIN}><TR><TD>{kind.value}</TD></TR></TABLE></TD>"
        title = f'<FONT POINT-SIZE="16">{safe(self._captions.title)}</FONT>'
        legend = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="6"><TR>{cells}</TR></TABLE>'
        rows = f"<TR><TD>{title}</TD></TR><TR><TD>{legend}</TD></TR>"
        return _Html(f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0">{rows}</TABLE>')


_PLAIN = 'CELLBORDER="0" CELLSPACING="0" CELLPADDING="3"'


def _scale(kind: Kind, text: str) -> str:
    """Samples of the colours of a hue, with their shares."""
    cells = "".join(
        f'<TD BGCOLOR="{fill(kind, share)}">{units.significant(100 * share, 2)} %</TD>' for share in SCALE
    )
    return f'<TD>{text}</TD><TD><TABLE BORDER="0" {_PLAIN}><TR>{cells}</TR></TABLE></TD>'
