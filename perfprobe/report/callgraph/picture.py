"""The look of a call graph: gprof2dot's writer with colours by share, a hue for backward, and a legend."""

from __future__ import annotations

from io import StringIO
from typing import Any

from gprof2dot import Call, DotWriter, Function, Profile, Theme

from perfprobe.report.callgraph.nodes import FIGURES, Kind, Node

_FONT = "Helvetica"
_DARK, _GREY = "#333333", "#8a8a8a"
_SIDE_BY_SIDE = 3  # operators of a function that may be
_COLUMN = 6  # operators of a function below one another
_LEFT_END = "\v"  # in our labels: the line ends here and stands at the left


class _Light(Theme):
    """Light fills with black text, the darker the larger the share; edges in the same hue, never faint."""

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

_LOOKS = {
    Kind.USER: {"style": "filled", "color": _DARK, "penwidth": "1.6"},
    Kind.LIBRARY: {"style": "filled,dashed", "color": _GREY},
    Kind.OPERATOR: {"style": "filled,rounded", "color": _GREY, "penwidth": "0.6"},
    Kind.BACKWARD: {"style": "filled,rounded", "color": _GREY, "penwidth": "0.6"},
}


def dot(profile: Profile, title: str, notes: list[str]) -> str:
    """The graph in the DOT language.

    Args:
        profile: of `Node`s, pruned.
        title: its heading.
        notes: the lines of the legend, below a sample of each kind of node.
    """
    out = StringIO()
    _Writer(out, title, notes).graph(profile, HEAT)
    return out.getvalue()


class _Legend(Function):
    """A sample of a kind of node, or the notes below them."""

    def __init__(self, number: int, kind: Kind | None, name: str) -> None:
        super().__init__(number, name)
        self.kind = kind
        self.weight = 0.0


class _Writer(DotWriter):
    """gprof2dot's writer; what it writes for a node or an edge gets the look of its kind."""

    show_function_events = (FIGURES,)
    show_edge_events = (FIGURES,)

    def __init__(self, out: StringIO, title: str, notes: list[str]) -> None:
        super().__init__(out)
        self._title = title
        self._notes = notes
        self._nodes: dict[int, Node | _Legend] = {}
        self._lengths: dict[tuple[int, int], int] = {}

    def graph(self, profile: Profile, theme: Theme) -> None:
        drawn = Profile()
        drawn.functions = {**self._legend(profile), **profile.functions}
        self._nodes = drawn.functions
        self._lengths = _lengths(profile)
        super().graph(drawn, theme)

    def begin_graph(self) -> None:
        super().begin_graph()
        self.attr("graph", label=self._title, labelloc="t", fontsize=16, dpi=96, charset="UTF-8")
        # Bounds on how long dot looks for a better layout.
        self.attr("graph", nslimit=10, nslimit1=10)

    def node(self, node: int, **attrs: Any) -> None:
        drawn = self._nodes[node]
        if drawn.kind is None:
            attrs = {**attrs, "shape": "plaintext", "style": "", "fillcolor": None}
        else:
            theme = VIOLET if drawn.kind is Kind.BACKWARD else HEAT
            attrs = {
                **attrs,
                "fillcolor": self.color(theme.node_bgcolor(drawn.weight or 0.0)),
                **_LOOKS[drawn.kind],
            }
        super().node(node, margin="0.08,0.04", **attrs)

    def edge(self, src: int, dst: int, **attrs: Any) -> None:
        caller, callee = self._nodes[src], self._nodes[dst]
        if isinstance(caller, _Legend):
            attrs = {"style": "invis"}
        elif callee.kind is Kind.BACKWARD:
            color = self.color(VIOLET.edge_color(caller.calls[dst].weight or 0.0))
            attrs = {**attrs, "color": color, "fontcolor": color}
        super().edge(src, dst, minlen=self._lengths.get((src, dst)), **attrs)

    def id(self, id: int | float | str) -> None:
        # gprof2dot leaves plain words unquoted, of which some mean something in DOT.
        self.write(self.escape(id) if isinstance(id, str) else str(id))

    def escape(self, s: str) -> str:
        text: str = super().escape(s.replace("&", "&amp;"))
        return text.replace(_LEFT_END, r"\l")

    def _legend(self, profile: Profile) -> dict[int, _Legend]:
        first = -1 - len(Kind)  # below all others: drawn first, at the left
        kinds = {node.kind for node in profile.functions.values()}
        samples: list[tuple[Kind | None, str]] = [(kind, kind.value) for kind in Kind if kind in kinds]
        samples.append((None, "".join(f"{line}{_LEFT_END}" for line in self._notes)))
        found = {number: _Legend(number, kind, text) for number, (kind, text) in enumerate(samples, first)}
        for number in list(found)[:-1]:
            found[number].add_call(Call(number + 1))
        return found


def _lengths(profile: Profile) -> dict[tuple[int, int], int]:
    """In how many steps each operator is below its function: side by side, many make a picture too wide."""
    found = {}
    for number, node in profile.functions.items():
        below = [callee for callee in node.calls if not profile.functions[callee].is_function]
        below.sort(key=lambda callee: -profile.functions[callee].weighs)
        if len(below) > _SIDE_BY_SIDE:
            found.update({(number, callee): 1 + at % _COLUMN for at, callee in enumerate(below)})
    return found
