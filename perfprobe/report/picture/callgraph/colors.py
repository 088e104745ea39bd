"""The colours of a call graph: darker for a larger share, warm in forward, violet in backward."""

from __future__ import annotations

from gprof2dot import Theme

from perfprobe.report.picture.callgraph.nodes import Kind

FONT = "Arial"  # a font that has no spaces in its name; where it is missing, one of the same widths is found
FONT_SIZE = 11
SCALE = (0.01, 0.05, 0.15, 0.3, 0.6)  # the shares that the legend shows


class _Light(Theme):
    """Light fills, so that black text stays legible on them."""

    def __init__(self, light: tuple[float, float, float], full: tuple[float, float, float]) -> None:
        super().__init__(
            mincolor=light,
            maxcolor=full,
            fontname=FONT,
            fontcolor="black",
            minfontsize=FONT_SIZE,
            maxfontsize=FONT_SIZE,
            minpenwidth=0.8,
            maxpenwidth=4.0,
            gamma=1.0,
            skew=0.1,
        )


HEAT = _Light((0.15, 0.80, 0.95), (0.01, 0.95, 0.62))
VIOLET = _Light((0.77, 0.75, 0.965), (0.77, 0.75, 0.66))
PLAIN = _Light((0.0, 0.0, 0.93), (0.0, 0.0, 0.6))
_THEMES = {Kind.BACKWARD: VIOLET, Kind.UNPLACED: PLAIN}


def fill(kind: Kind, share: float) -> str:
    """The colour of a cell, as `#rrggbb`."""
    red, green, blue = _THEMES.get(kind, HEAT).color(share)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
