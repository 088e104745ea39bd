"""The axes of the picture of steps, one function for each."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.support import units
from perfprobe.tables.columns import Int64
from perfprobe.tables.steps import Loops, Phases, StepMark, StepPhase, Steps

# Okabe and Ito's colours, which colour-blind readers can distinguish; rare phases share greys with a hatch.
_COLORS = {
    StepPhase.DATA: ("#D55E00", ""),
    StepPhase.COPY: ("#E69F00", ""),
    StepPhase.FORWARD: ("#0072B2", ""),
    StepPhase.BACKWARD: ("#56B4E9", ""),
    StepPhase.RECOMPUTE: ("#56B4E9", "///"),
    StepPhase.OPTIMIZER: ("#009E73", ""),
    StepPhase.ZERO_GRAD: ("#009E73", "///"),
    StepPhase.CLIPPING: ("#009E73", "..."),
    StepPhase.RESULTS: ("#CC79A7", "///"),
    StepPhase.SAVING: ("#CC79A7", ""),
    StepPhase.LOGGING: ("#F0E442", ""),
    StepPhase.COLLECTION: ("#000000", ""),
    StepPhase.COMPILE: ("#777777", "///"),
    StepPhase.IMPORT: ("#777777", ""),
    StepPhase.OTHER: ("#CCCCCC", ""),
}
_MARKS = {
    StepMark.WARM_UP: ("warm-up", "^", "#E69F00"),
    StepMark.COMPILE: ("compiling", "s", "#777777"),
    StepMark.OUTLIER: ("outlier", "X", "#D55E00"),
    StepMark.CUT: ("cut short", "P", "#CC79A7"),
    StepMark.BASELINE: ("untraced", "d", "#0072B2"),
    StepMark.COUNTED: ("with cProfile", "v", "#56B4E9"),
}
_MOST_BARS = 200  # more are drawn as means of several
_FEW_BARS = 60  # with more bars, edges would cover most of them
_VISIBLE = 0.005  # a part of a bar is drawn from this share of the axes' height on
_LEAST_SHARE = 0.001  # a phase gets a bar from this share of the steps' time on
_FAR = 4  # bars higher than this times the height of nearly all bars are cut off
_NEARLY_ALL = 0.95
_LOGARITHMIC = 20  # the axis is logarithmic if a step takes more than this times the median
_FEWEST_SHARES = 6  # the axes have room for at least this many bars
_IN_A_ROW = 7  # phases or marks of a legend
_PAD, _ROW = 8, 14  # points between axes and title, and for each row of the legend between them
_ABOVE = {
    "loc": "lower left",
    "bbox_to_anchor": (0, 1),
    "borderaxespad": 0.2,
    "frameon": False,
    "fontsize": 8,
}


class Shown(NamedTuple):
    """The steps of the leading loop. by_phase: ns by phase and step. word: what a step is called."""

    steps: Steps
    by_phase: npt.NDArray[np.int64]
    texts: Mapping[StepPhase, str]
    word: str


def phases(axes: Any, shown: Shown) -> None:
    """Draw a bar for each step, or for the mean of several."""
    count = len(shown.steps)
    width = -(-count // _MOST_BARS)
    starts = np.arange(0, count, width)
    sizes = np.diff(np.append(starts, count))
    means_ns = np.add.reduceat(shown.by_phase, starts, axis=1) / sizes
    whole_ns = means_ns.sum(axis=0)
    top_ns = highest_ns(whole_ns)
    edge = 0.3 if len(starts) <= _FEW_BARS else 0
    below_ns = np.zeros(len(starts))
    for phase, (color, hatch) in _COLORS.items():
        own_ns = means_ns[phase]
        if own_ns.max() <= 0:
            continue
        label = shown.texts[phase] if own_ns.max() >= _VISIBLE * top_ns else None
        places = starts + (sizes + 1) / 2
        style = {"color": color, "hatch": hatch, "edgecolor": "w", "linewidth": edge, "label": label}
        axes.bar(places, own_ns, sizes, bottom=below_ns, **style)
        below_ns += own_ns
    axes.set(ylim=(0, top_ns), xlim=(0.5, count + 0.5))
    _in_time(axes.yaxis)
    axes.tick_params(labelbottom=False)
    _head(axes, _title(shown.word, width, whole_ns, top_ns))


def _title(word: str, width: int, whole_ns: npt.NDArray[np.float64], top_ns: float) -> str:
    """The title: what a bar is, and whether bars are cut off."""
    text = f"What each {word} is made of"
    if width > 1:
        text += f" (each bar the mean of {width})"
    cut = int(np.count_nonzero(whole_ns > top_ns))
    if cut:
        bars = "1 bar is" if cut == 1 else f"{cut} bars are"
        text += f"; {bars} cut off, the highest {units.duration(float(whole_ns.max()))}"
    return text


def highest_ns(whole_ns: npt.NDArray[np.float64]) -> float:
    """The end of the axis in ns: above all bars, or above nearly all if a few are far higher."""
    usual_ns = float(np.quantile(whole_ns, _NEARLY_ALL))
    most_ns = float(whole_ns.max())
    return 1.05 * (most_ns if most_ns <= _FAR * usual_ns or usual_ns <= 0 else 1.5 * usual_ns) or 1.0


def durations(axes: Any, shown: Shown, loops: Loops) -> None:
    """Draw a point for each step, with a mark if averages leave it out."""
    steps = shown.steps
    duration_ns = steps.end_ns - steps.start_ns
    number = np.arange(1, len(steps) + 1)
    steady = steps.mark == StepMark.STEADY
    size = 3 if len(steps) <= 10 * _MOST_BARS else 1.5
    for mark, (text, shape, color) in _MARKS.items():
        chosen = steps.mark == mark
        if bool(chosen.any()):
            label = f"{text} ({int(chosen.sum()):,})"
            style = {
                "color": color,
                "markersize": 2 * size + 1,
                "label": label,
                "zorder": 3,
                "clip_on": False,
            }
            axes.plot(number[chosen], duration_ns[chosen], shape, **style)
    label = f"steady ({int(np.count_nonzero(steady)):,})"
    axes.plot(number[steady], duration_ns[steady], "o", color="#0072B2", markersize=size, label=label)
    for text, time_ns, line in (("median", loops.median_ns[0], "-"), ("p95", loops.p95_ns[0], ":")):
        label = f"{text} {units.duration(int(time_ns))}"
        axes.axhline(time_ns, color="#333333", linewidth=0.9, linestyle=line, label=label, zorder=2.5)
    _scale(axes, duration_ns, int(loops.median_ns[0]))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{round(value):,}")
    axes.set_xlabel(shown.word)
    _head(axes, f"How long each {shown.word} took")


def _head(axes: Any, title: str) -> None:
    """Draw title and legend above the axes, where they hide nothing and take no width."""
    legend = axes.legend(ncols=_IN_A_ROW, handlelength=1.2, columnspacing=1.2, **_ABOVE)
    legend.set_in_layout(False)
    rows = -(-len(legend.get_texts()) // _IN_A_ROW)
    axes.set_title(title, loc="left", pad=_PAD + _ROW * rows)


def _scale(axes: Any, duration_ns: Int64, median_ns: int) -> None:
    """Let the axis begin at 0; make it logarithmic if some steps are far longer than the median."""
    most_ns = int(duration_ns.max())
    if most_ns > _LOGARITHMIC * max(median_ns, 1):
        ticker: Any = importlib.import_module("matplotlib.ticker")
        least_ns = max(int(duration_ns.min()), 1)
        axes.set(yscale="log", ylim=(least_ns * 0.7, most_ns * 1.4))
        between = (1.0, 2.0, 5.0) if most_ns < 1000 * least_ns else (1.0,)
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=between))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        axes.set_ylim(0, most_ns * 1.08 or 1.0)
    _in_time(axes.yaxis)


def _in_time(axis: Any) -> None:
    """Write ticks as `2.00 ms`."""
    axis.set_major_formatter(lambda value, _: units.duration(value) if value else "0")


def shares(axes: Any, shown: Shown, rows: Phases) -> None:
    """Draw the phases of steady steps, the largest on top. Those too short for a bar are left out."""
    share = rows.time_ns / max(int(rows.time_ns.sum()), 1)
    at = np.flatnonzero(share >= _LEAST_SHARE)
    kinds = [StepPhase(phase) for phase in rows.phase[at].tolist()]
    place = np.arange(len(kinds))
    bars = axes.barh(place, share[at] * 100, color=[_COLORS[kind][0] for kind in kinds], edgecolor="w")
    for bar, kind in zip(bars, kinds, strict=True):
        bar.set_hatch(_COLORS[kind][1])
    axes.set_yticks(place, [shown.texts[kind] for kind in kinds])
    axes.bar_label(bars, [units.percent(float(each)) for each in share[at]], padding=3)
    axes.set_ylim(max(len(kinds), _FEWEST_SHARES) - 0.5, -0.5)
    axes.set_xlim(0, float(share.max()) * 125 + 2)
    axes.set_xticks([])
    axes.set_title(f"Share of steady {shown.word}s", loc="left", pad=_PAD + _ROW)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
