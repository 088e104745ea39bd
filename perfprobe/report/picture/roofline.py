"""A machine's roofline as a picture, with measured operators on it.

There are two panels. The first is for operators that calculate: FLOP/s by arithmetic intensity, which is
FLOPs divided by the bytes that must be moved at least (Williams, Waterman and Patterson, CACM 52(4), 2009).
The second is for operators without FLOPs, such as `copy_`, which only move or make data: bytes a second by
bytes moved, below the bandwidth measured for as many bytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from math import atan2, degrees
from typing import Any, TypeAlias

from perfprobe.report.picture.figure import drawn
from perfprobe.report.picture.roofline_labels import apart, place
from perfprobe.report.picture.roofline_points import Point, points
from perfprobe.report.picture.roofline_roofs import MIXES, Roofs, roofs
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.machine import Machine
from perfprobe.tables.measurements import Measurements

# Okabe and Ito's colours, which colour-blind readers can distinguish, and a shape for each for grey prints.
_KINDS = {
    "compute-bound": ("#0072B2", "o"),
    "memory-bound": ("#009E73", "s"),
    "element-rate-bound": ("#56B4E9", "^"),
    "overhead-bound": ("#E69F00", "D"),
    "allocation-bound": ("#F0E442", "p"),
    "below ceiling": ("#CC79A7", "v"),
    "inefficient": ("#D55E00", "X"),
    "ambiguous": ("#BBBBBB", "P"),
    "unjudged": ("#FFFFFF", "o"),
}
_OTHER = ("#777777", "*")  # unstable, model error
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_SMALLEST, _LARGEST = 30.0, 400.0  # area of a point, in square points
_GREY = "#555555"
Spell: TypeAlias = Callable[[float], str]
_FLOPS: tuple[Spell, Spell] = (units.plain, lambda value: f"{units.amount(value)}FLOP/s")
_BYTES: tuple[Spell, Spell] = (units.size, lambda value: f"{units.amount(value)}B/s")


def draw(machine: Machine, measurements: Measurements | None, path: str) -> None:
    """Draw the roofline to a file, in the format of its ending: .png, .svg, .pdf.

    Raises:
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    shown = () if measurements is None else points(measurements)
    roof = roofs(machine, shown)
    with drawn(path, 15, 6.6) as figure:
        _fill(figure, roof, shown, with_operators=measurements is not None)
        figure.suptitle(_title(machine, roof, measurements))


def _fill(figure: Any, roof: Roofs, shown: tuple[Point, ...], *, with_operators: bool) -> None:
    left, right = figure.subplots(1, 2)
    left.set_title("Operators that calculate" if with_operators else "Calculation")
    right.set_title("Operators that only move, fill or make values" if with_operators else "Bandwidth")
    calculating = [point for point in shown if point.flop_rate is not None]
    moving = [point for point in shown if point.flop_rate is None]
    slopes, margin = _calculating(left, roof, calculating)
    _moving(right, roof, moving)
    _legend(figure, shown)
    figure.draw_without_rendering()  # sets the length of the axes, which places of labels depend on
    for text in slopes:
        _turn(left, text)
    apart(left, margin)
    _scatter(left, calculating, [(point.intensity or 1.0, point.flop_rate or 1.0) for point in calculating])
    _scatter(right, moving, [(float(point.moved_bytes), point.byte_rate) for point in moving])


def _title(machine: Machine, roof: Roofs, measurements: Measurements | None) -> str:
    parts = [printable(machine.name), roof.of, f"torch {printable(machine.torch)}"]
    if measurements is not None and measurements.recording:
        parts.append(printable(measurements.recording))
    return " · ".join(part[:80] for part in parts)


def _calculating(axes: Any, roof: Roofs, shown: list[Point]) -> tuple[list[Any], list[Any]]:
    """Draw the roofs of the first panel, with limits that include all points.

    Returns texts to rotate along their lines, and texts in the margin, which may overlap.
    """
    axes.set(xscale="log", yscale="log", ylabel="FLOP/s")
    axes.set_xlabel("arithmetic intensity: FLOPs by the bytes that must be moved (FLOP/byte)")
    rates = [rate for rate in (roof.product, roof.peak, *(point.flop_rate for point in shown)) if rate]
    if not rates:
        return [], []
    steepest = max(_rates(roof.levels), default=max(rates))
    low_x, high_x = _intensities(roof, shown, max(rates))
    texts = _slopes(axes, roof, low_x, high_x, max([roof.product or max(rates), *_rates(roof.others)]))
    start = max((roof.product or max(rates)) / steepest, low_x)
    margin = _roofs(axes, roof, start, high_x, steepest)
    axes.set_xlim(low_x, high_x)
    axes.set_ylim(
        min([low_x * steepest / 4, *(rate / 2 for rate in rates)]), 2.5 * max([*rates, *_rates(roof.others)])
    )
    _ticks(axes, _FLOPS)
    return texts, margin


def _roofs(axes: Any, roof: Roofs, start: float, end: float, steepest: float) -> list[Any]:
    black = {"color": "black", "lw": 1.6}
    texts = []
    if roof.peak:
        texts.append(_flat(axes, start, end, roof.peak, roof.peak_text, "bottom", linestyle="--", **black))
    if roof.product:
        texts.append(_flat(axes, start, end, roof.product, roof.product_text, "top", **black))
    for dtype, rate in roof.others:
        text = f"{dtype} product"
        texts.append(_flat(axes, rate / steepest, end, rate, text, "center", color=_GREY, lw=0.8))
    return texts


def _rates(named: Iterable[tuple[str, float]]) -> list[float]:
    return [rate for _, rate in named]


def _intensities(roof: Roofs, shown: list[Point], top: float) -> tuple[float, float]:
    """Limits of the intensity axis: they include sloped and flat parts of the roofs, and all points."""
    flattest = min(_rates(roof.levels), default=top)
    known = [point.intensity for point in shown if point.intensity]
    lowest = min([0.05, *(value / 2 for value in known)])
    return lowest, max([8 * top / flattest, *(2 * value for value in known)])


def _slopes(axes: Any, roof: Roofs, low_x: float, high_x: float, top: float) -> list[Any]:
    texts = []
    for (name, rate), line in zip(roof.levels, _LINES, strict=False):
        end = min(top / rate, high_x)
        axes.plot([low_x, end], [low_x * rate, end * rate], color=_GREY, linestyle=line, lw=1.4)
        at = (low_x * 1.2, low_x * 1.2 * rate)
        label = f"{name} {units.amount(rate)}B/s"
        style = {"textcoords": "offset points", "rotation_mode": "anchor", "fontsize": 8, "color": _GREY}
        texts.append(axes.annotate(label, at, (-2, 3), **style))
    return texts


def _turn(axes: Any, text: Any) -> None:
    """Rotate a text to the angle of a line with slope 1 through its place."""
    x, y = text.xy
    (x0, y0), (x1, y1) = axes.transData.transform([(x, y), (2 * x, 2 * y)])
    text.set_rotation(degrees(atan2(y1 - y0, x1 - x0)))


def _flat(axes: Any, start: float, end: float, rate: float, text: str, above: str, **style: Any) -> Any:
    """Draw a flat roof, with its text in the margin, where there are no points."""
    axes.plot([start, end], [rate, rate], **style)
    return axes.annotate(
        f"{text}\n{units.amount(rate)}FLOP/s",
        (1, rate),
        (4, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        va=above,
        fontsize=8,
        color=style["color"],
    )


def _moving(axes: Any, roof: Roofs, shown: list[Point]) -> None:
    axes.set(xscale="log", yscale="log", ylabel="bytes/s")
    label = "bytes that must be moved; lines: with so many bytes touched again and again"
    more = "\noperators: on copies in turn that do not stay in the caches" if shown else ""
    axes.set_xlabel(label + more)
    for mix, line in zip(MIXES, _LINES, strict=True):
        if mix in roof.curves:
            axes.plot(*zip(*roof.curves[mix], strict=True), color=_GREY, linestyle=line, lw=1.2, label=mix)
    rates = [rate for curve in roof.curves.values() for _, rate in curve]
    rates += [point.byte_rate for point in shown]
    if rates:
        axes.set_ylim(min(rates) / 2, max(rates) * 2)
    if roof.curves:
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=len(MIXES), fontsize=8, frameon=False
        )
    _ticks(axes, _BYTES)


def _ticks(axes: Any, spelled: tuple[Spell, Spell]) -> None:
    ticker: Any = importlib.import_module("matplotlib.ticker")
    for axis, spell in zip((axes.xaxis, axes.yaxis), spelled, strict=True):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _, spell=spell: spell(value)))
        axis.set_minor_formatter(ticker.NullFormatter())
    if spelled is _BYTES:
        axes.xaxis.set_major_locator(ticker.LogLocator(base=16))
        axes.xaxis.set_minor_locator(ticker.LogLocator(base=2))
    axes.grid(visible=True, which="major", color="#DDDDDD", lw=0.6)
    axes.set_axisbelow(True)


def _scatter(axes: Any, shown: list[Point], at: list[tuple[float, float]]) -> None:
    whole = max((point.share for point in shown), default=0.0) or 1.0
    areas = [_SMALLEST + (_LARGEST - _SMALLEST) * point.share / whole for point in shown]
    for point, place_of, area in zip(shown, at, areas, strict=True):
        color, marker = _KINDS.get(point.kind, _OTHER)
        axes.scatter(*place_of, s=area, c=color, marker=marker, edgecolors="black", linewidths=0.7, zorder=3)
    place(axes, [point.label for point in shown], at, areas)


def _legend(figure: Any, shown: tuple[Point, ...]) -> None:
    """Draw a legend of the verdicts that occur."""
    lines: Any = importlib.import_module("matplotlib.lines")
    kinds = dict.fromkeys(point.kind for point in shown)
    made = []
    for kind in [
        *(known for known in _KINDS if known in kinds),
        *(kind for kind in kinds if kind not in _KINDS),
    ]:
        color, marker = _KINDS.get(kind, _OTHER)
        style = {"marker": marker, "markerfacecolor": color, "markeredgecolor": "black", "markersize": 8}
        made.append(lines.Line2D([], [], linestyle="", label=kind, **style))
    if made:
        title = "Area: share of the time"
        figure.legend(handles=made, loc="outside lower center", ncols=len(made), frameon=False, title=title)
