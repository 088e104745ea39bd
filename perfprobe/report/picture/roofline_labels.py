"""Places labels beside points so that none covers another label or point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, pi, sin, sqrt
from typing import Any, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top in pixels

_MOST = 30  # this many points get a label, those with most time first
_FONT = 8
_RINGS = (3.0, 14.0, 28.0, 45.0, 70.0)  # distances of a label from its point's rim, in points
_WAYS = 12


def place(
    axes: Any, labels: Sequence[str], at: Sequence[tuple[float, float]], areas: Sequence[float]
) -> None:
    """Write a label for each point, in order. A line connects a point to a label that is far from it.

    Args:
        at: the points in data coordinates. Limits of the axes and their place in the figure must be final.
        areas: the areas of the points, in square points.
    """
    if not labels:
        return
    figure = axes.figure
    scale = figure.dpi / 72
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    centres = [tuple(axes.transData.transform(point)) for point in at]
    radii = [sqrt(area / pi) * scale for area in areas]
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(centres, radii, strict=True)]
    taken += [tuple(text.get_window_extent(renderer).extents) for text in axes.texts]
    inside = axes.get_window_extent(renderer)
    frame = (inside.x0, inside.y0, inside.x1, inside.y1)
    for label, centre, radius in list(zip(labels, centres, radii, strict=True))[:_MOST]:
        size = _size(axes, label, renderer)
        box, far = _free(centre, radius, size, scale, taken, frame)
        taken.append(box)
        _write(axes, label, centre, box, scale, far=far)


def apart(axes: Any, texts: Sequence[Any]) -> None:
    """Move annotations of one column up until none covers another."""
    figure = axes.figure
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    boxes = [(tuple(text.get_window_extent(renderer).extents), text) for text in texts]
    top: float | None = None
    for (_, low, _, high), text in sorted(boxes, key=lambda box: box[0][1] + box[0][3]):
        up = 0.0 if top is None else max(top - low, 0.0)
        across, upright = text.get_position()
        text.set_position((across, upright + up * 72 / figure.dpi))
        top = high + up


def _size(axes: Any, label: str, renderer: Any) -> tuple[float, float]:
    text = axes.text(0, 0, label, fontsize=_FONT)
    extent = text.get_window_extent(renderer)
    text.remove()
    return extent.width, extent.height


def _free(
    centre: tuple[float, float],
    radius: float,
    size: tuple[float, float],
    scale: float,
    taken: Sequence[Box],
    frame: Box,
) -> tuple[Box, bool]:
    """The nearest box that covers nothing, otherwise the one that covers least."""
    least: tuple[float, Box, bool] | None = None
    for ring, box in _candidates(centre, radius, size, scale):
        covered = sum(_overlap(box, other) for other in taken) + _outside(box, frame)
        if covered == 0:
            return box, ring > 0
        if least is None or covered < least[0]:
            least = (covered, box, ring > 0)
    assert least is not None
    return least[1], least[2]


def _candidates(
    centre: tuple[float, float], radius: float, size: tuple[float, float], scale: float
) -> Iterator[tuple[int, Box]]:
    """Boxes around the point, starting on its right."""
    width, height = size
    for ring, distance in enumerate(_RINGS):
        reach = radius + distance * scale
        for way in range(_WAYS):
            turn = (way + 1) // 2 * (1 if way % 2 else -1) * 2 * pi / _WAYS
            x = centre[0] + reach * cos(turn) + width / 2 * (cos(turn) - 1)
            y = centre[1] + reach * sin(turn) + height / 2 * (sin(turn) - 1)
            yield ring, (x, y, x + width, y + height)


def _overlap(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0


def _outside(box: Box, frame: Box) -> float:
    whole = (box[2] - box[0]) * (box[3] - box[1])
    return whole - _overlap(box, frame)


def _write(axes: Any, label: str, centre: tuple[float, float], box: Box, scale: float, *, far: bool) -> None:
    axes.annotate(
        label,
        axes.transData.inverted().transform(centre),
        ((box[0] - centre[0]) / scale, (box[1] - centre[1]) / scale),
        textcoords="offset points",
        fontsize=_FONT,
        ha="left",
        va="bottom",
        zorder=4,
        arrowprops={"arrowstyle": "-", "color": "#777777", "lw": 0.5, "shrinkA": 0, "shrinkB": 0}
        if far
        else None,
    )
