"""The look of a call graph: gprof2dot's writer with colours by share, a hue for backward, and a legend."""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import Any

from gprof2dot import DotWriter, Profile, Theme

from perfprobe.report.picture.callgraph.nodes import FIGURES, Kind, Node

_FONT = "Helvetica"
_DARK, _GREY = "#333333", "#8a8a8a"
_SIDE_BY_SIDE = 3  # operators of a function in one row


class _Light(Theme):
    """Light fills with black text, darker for a larger share. Edges have the same hue and stay visible."""

    def __init__(self, light: tuple[float, float, float], full: tuple[float, float, float]) -> None:
        super().__init__(
            mincolor=light,
            maxcolor=full,
            fontname=_FONT,
            fontcolor="black",
            minfontsize=11.0,
            maxfontsize=11.0,
            minpenwidth=0.8,
            maxpenwidth=4.0,
            gamma=1.0,
            skew=0.1,
        )
        self._faintest = Theme(
            mincolor=(full[0], 0.35, 0.55), maxcolor=(full[0], 0.9, 0.4), gamma=1.0, skew=0.1
        )

    def node_fgcolor(self, weight: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0

    def edge_color(self, weight: float) -> Any:
        return self._faintest.color(weight)


HEAT = _Light((0.15, 0.75, 0.93), (0.01, 0.95, 0.62))
VIOLET = _Light((0.77, 0.70, 0.95), (0.77, 0.75, 0.66))
PLAIN = _Light((0.0, 0.0, 0.93), (0.0, 0.0, 0.6))

_LOOKS = {
    Kind.USER: {"style": "filled", "color": _DARK, "penwidth": "1.6"},
    Kind.LIBRARY: {"style": "filled,dashed", "color": _GREY},
    Kind.OPERATOR: {"style": "filled,rounded", "color": _GREY, "penwidth": "0.6"},
    Kind.BACKWARD: {"style": "filled,rounded", "color": _GREY, "penwidth": "0.6"},
    Kind.UNPLACED: {"style": "filled", "color": _GREY, "penwidth": "0.6"},
    Kind.APART: {"style": "filled,dashed", "color": _GREY, "penwidth": "0.6"},
}
_THEMES = {Kind.BACKWARD: VIOLET, Kind.UNPLACED: PLAIN, Kind.APART: PLAIN}


def dot(profile: Profile, title: str, notes: list[str]) -> str:
    """The graph in the DOT language.

    Args:
        profile: a pruned profile of `Node`s.
        title: its heading.
        notes: the lines of the legend, below a sample of each kind of node in the picture.
    """
    out = StringIO()
    _Writer(out, title, notes).graph(profile, HEAT)
    return out.getvalue()


class _Html(str):
    """A label that dot reads as HTML."""


class _Writer(DotWriter):
    """gprof2dot's writer, with the style of each kind of node and edge."""

    show_function_events = (FIGURES,)
    show_edge_events = (FIGURES,)

    def __init__(self, out: StringIO, title: str, notes: list[str]) -> None:
        super().__init__(out)
        self._title = title
        self._notes = notes
        self._nodes: dict[int, Node] = {}
        self._lengths: dict[tuple[int, int], int] = {}

    def graph(self, profile: Profile, theme: Theme) -> None:
        drawn, self._lengths = _in_rows(profile)
        self._nodes = drawn.functions
        super().graph(drawn, theme)

    def begin_graph(self) -> None:
        super().begin_graph()
        self.attr("graph", label=self._heading(), labelloc="t", fontsize=11, dpi=96, charset="UTF-8")
        # Bounds on how long dot looks for a better layout.
        self.attr("graph", nslimit=10, nslimit1=10)

    def node(self, node: int, **attrs: Any) -> None:
        drawn = self._nodes[node]
        fill = self.color(_theme(drawn.kind).node_bgcolor(drawn.weight or 0.0))
        attrs = {**attrs, "fillcolor": fill, **_LOOKS[drawn.kind]}
        super().node(node, margin="0.11,0.06", **attrs)

    def edge(self, src: int, dst: int, **attrs: Any) -> None:
        if self._nodes[dst].kind is Kind.BACKWARD:
            color = self.color(VIOLET.edge_color(self._nodes[src].calls[dst].weight or 0.0))
            attrs = {**attrs, "color": color, "fontcolor": color}
        super().edge(src, dst, minlen=self._lengths.get((src, dst)), **attrs)

    def id(self, id: int | float | str) -> None:
        # gprof2dot leaves plain words unquoted, some of which are keywords of DOT.
        if isinstance(id, _Html):
            self.write(f"<{id}>")
        else:
            self.write(self.escape(id) if isinstance(id, str) else str(id))

    def escape(self, s: str) -> str:
        return str(super().escape(s.replace("&", "&amp;")))

    def _heading(self) -> _Html:
        """The title, a sample of each kind of node, and the notes, to stand above the graph."""
        kinds = {node.kind for node in self._nodes.values()}
        samples = "".join(f"<TD>{self._sample(kind)}</TD>" for kind in Kind if kind in kinds)
        notes = "".join(f'{_html(line)}<BR ALIGN="LEFT"/>' for line in self._notes)
        rows = (
            f'<TD><FONT POINT-SIZE="16">{_html(self._title)}</FONT></TD>',
            f'<TD><TABLE BORDER="0" CELLSPACING="8"><TR>{samples}</TR></TABLE></TD>',
            f'<TD BALIGN="LEFT">{notes}</TD>',
        )
        table = "".join(f"<TR>{row}</TR>" for row in rows)
        return _Html(f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0">{table}</TABLE>')

    def _sample(self, kind: Kind) -> str:
        look = _LOOKS[kind]
        style = look["style"].removeprefix("filled").removeprefix(",")
        border = "2" if kind is Kind.USER else "1"
        return (
            f'<TABLE BORDER="{border}" CELLBORDER="0" CELLPADDING="3" CELLSPACING="0" STYLE="{style}" '
            f'COLOR="{look["color"]}" BGCOLOR="{self.color(_theme(kind).node_bgcolor(0.0))}">'
            f"<TR><TD>{kind.value}</TD></TR></TABLE>"
        )


def _html(text: str) -> str:
    # dot would replace \G by the name of the graph.
    return escape(text).replace("\\", "\\\N{ZERO WIDTH SPACE}")


def _theme(kind: Kind) -> Theme:
    return _THEMES.get(kind, HEAT)


def _in_rows(profile: Profile) -> tuple[Profile, dict[tuple[int, int], int]]:
    """The nodes with new numbers, so that dot places them from left to right by weight; and lengths of edges.

    Operators of a function are in several rows, the heaviest in the first, because one row would make the
    picture too wide. dot places nodes in the order of their numbers, so edges to a lower row pass between.
    """
    nodes = profile.functions
    order = sorted(nodes, key=lambda number: -nodes[number].weighs)
    rows = {}
    for node in nodes.values():
        below = [callee for callee in node.calls if not nodes[callee].is_function]
        below.sort(key=lambda number: -nodes[number].weighs)
        rows.update({callee: divmod(at, _SIDE_BY_SIDE) for at, callee in enumerate(below)})
    order.sort(key=lambda number: (rows[number][1], -rows[number][0]) if number in rows else (-1, 0))
    new = {number: at for at, number in enumerate(order)}
    lengths = {
        (new[number], new[callee]): 1 + rows[callee][0]
        for number in order
        for callee in nodes[number].calls
        if callee in rows
    }
    return _numbered(profile, new), lengths


def _numbered(profile: Profile, new: dict[int, int]) -> Profile:
    found = Profile()
    for number, at in new.items():
        node = profile.functions[number]
        node.id = at
        for call in node.calls.values():
            call.callee_id = new[call.callee_id]
        node.calls = {call.callee_id: call for call in node.calls.values()}
        found.add_function(node)
    return found
