"""Steps as a picture: what each is made of, how long each took, and what they are made of together."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from perfprobe.report.picture.roofline import matplotlib
from perfprobe.report.section.program import program
from perfprobe.support import files, units
from perfprobe.support.errors import EnvironmentLack, InputError
from perfprobe.tables.columns import Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import (
    INFERENCE_TEXTS,
    PHASE_TEXTS,
    StepKind,
    StepMark,
    StepPhase,
    Steps,
    StepTimes,
)

# Okabe and Ito's colours, which colour-blind eyes tell apart; what is rare shares greys with a hatch.
_COLORS = {
    StepPhase.DATA: ("#D55E00", ""),
    StepPhase.COPY: ("#E69F00", ""),
    StepPhase.FORWARD: ("#0072B2", ""),
    StepPhase.BACKWARD: ("#56B4E9", ""),
    StepPhase.RECOMPUTE: ("#56B4E9", "///"),
    StepPhase.OPTIMIZER: ("#009E73", ""),
    StepPhase.ZERO_GRAD: ("#009E73", "///"),
    StepPhase.RESULTS: ("#CC79A7", "///"),
    StepPhase.SAVING: ("#CC79A7", ""),
    StepPhase.LOGGING: ("#F0E442", ""),
    StepPhase.COLLECTION: ("#000000", ""),
    StepPhase.COMPILE: ("#777777", "///"),
    StepPhase.OTHER: ("#CCCCCC", ""),
}
_MARKS = {
    StepMark.WARM_UP: ("warm-up", "^", "#E69F00"),
    StepMark.COMPILE: ("compiling", "s", "#777777"),
    StepMark.OUTLIER: ("outlier", "X", "#D55E00"),
    StepMark.CUT: ("cut short", "P", "#CC79A7"),
}
_MOST_BARS = 200  # more are drawn as means of several


def draw(findings: Findings, path: str) -> None:
    """Draw it to a file whose end says how: .png, .svg, .pdf.

    Raises:
        InputError: no steps were found.
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    times = findings.get(StepTimes)
    if times is None or len(times.loops) == 0:
        where = findings.trace.recording.path
        raise InputError("there are no steps to draw", where, "`perfprobe graph` draws calls")
    figure_type, style = matplotlib()
    with style({"svg.fonttype": "none", "text.parse_math": False, "font.size": 9}):
        figure = figure_type(figsize=(13, 7.5), dpi=120, layout="constrained")
        _fill(figure, times)
        figure.suptitle(program(findings.trace)[:100])
        picture = io.BytesIO()
        figure.savefig(picture, format=os.path.splitext(path)[1][1:])
    try:
        files.write(path, picture.getvalue())
    except OSError as error:
        what = f"the picture cannot be written ({error.strerror})"
        raise EnvironmentLack(what, path, "name another") from error


def _fill(figure: Any, times: StepTimes) -> None:
    grid = figure.add_gridspec(2, 2, width_ratios=(3, 1))
    first = int(np.flatnonzero(times.steps.loop == 0)[0])
    steps = times.steps.take(times.steps.loop == 0)
    by_phase = phase_times(times, first, len(steps))
    is_inference = int(times.loops.kind[0]) != StepKind.TRAINING
    texts = INFERENCE_TEXTS if is_inference else PHASE_TEXTS
    word = "call" if is_inference else "step"
    shown = {phase: texts[phase] for phase in _COLORS if by_phase[phase].any()}
    _phases(figure.add_subplot(grid[0, 0]), by_phase, shown, word)
    _durations(figure.add_subplot(grid[1, 0]), steps, times, word)
    _shares(figure.add_subplot(grid[:, 1]), times, texts, word)


def phase_times(times: StepTimes, first: int, count: int) -> Any:
    """Nanoseconds by phase and step of the leading loop. first: the row of its first step."""
    rows = times.step_phases
    own: Mask = (rows.step >= first) & (rows.step < first + count)
    found = np.zeros((max(StepPhase) + 1, count), np.int64)
    np.add.at(found, (rows.phase[own], rows.step[own] - first), rows.time_ns[own])
    return found


def _phases(axes: Any, by_phase: Any, shown: Mapping[StepPhase, str], word: str) -> None:
    count = by_phase.shape[1]
    width = -(-count // _MOST_BARS)
    starts = np.arange(0, count, width)
    sizes = np.diff(np.append(starts, count))
    below = np.zeros(len(starts))
    for phase, text in shown.items():
        mean_ms = np.add.reduceat(by_phase[phase], starts) / sizes / 1e6
        color, hatch = _COLORS[phase]
        axes.bar(
            starts + (sizes + 1) / 2,
            mean_ms,
            sizes,
            bottom=below,
            color=color,
            label=text,
            hatch=hatch,
            edgecolor="w",
            linewidth=0.3,
        )
        below += mean_ms
    axes.legend(fontsize=8, ncols=4)
    each = f" (means of {width})" if width > 1 else ""
    axes.set(title=f"What each {word} is made of{each}", ylabel="ms", xlim=(0.5, count + 0.5), xlabel=word)


def _durations(axes: Any, steps: Steps, times: StepTimes, word: str) -> None:
    duration_ms = (steps.end_ns - steps.start_ns) / 1e6
    number = np.arange(1, len(steps) + 1)
    steady = steps.mark == StepMark.STEADY
    axes.plot(number[steady], duration_ms[steady], "o", color="#0072B2", markersize=3, label="steady")
    for mark, (text, shape, color) in _MARKS.items():
        chosen = steps.mark == mark
        if bool(chosen.any()):
            label = f"{text} ({int(chosen.sum())})"
            axes.plot(number[chosen], duration_ms[chosen], shape, color=color, markersize=8, label=label)
    median_ns, p95_ns = int(times.loops.median_ns[0]), int(times.loops.p95_ns[0])
    axes.axhline(median_ns / 1e6, color="#555555", linewidth=0.8, label=f"median {units.duration(median_ns)}")
    axes.axhline(
        p95_ns / 1e6, color="#555555", linewidth=0.8, linestyle=":", label=f"p95 {units.duration(p95_ns)}"
    )
    axes.set(title=f"How long each {word} took", xlabel=word, ylabel="ms", xlim=(0.5, len(steps) + 0.5))
    if len(steps) and duration_ms.max() > 20 * max(median_ns / 1e6, 1e-9):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def _shares(axes: Any, times: StepTimes, texts: dict[StepPhase, str], word: str) -> None:
    rows = times.phases.take(times.phases.loop == 0)
    share = rows.time_ns / max(int(rows.time_ns.sum()), 1)
    phases = [StepPhase(phase) for phase in rows.phase.tolist()]
    place = np.arange(len(phases))[::-1]
    bars = axes.barh(place, share * 100, color=[_COLORS[phase][0] for phase in phases], edgecolor="w")
    for bar, phase in zip(bars, phases, strict=True):
        bar.set_hatch(_COLORS[phase][1])
    axes.set_yticks(place, [texts[phase] for phase in phases])
    axes.bar_label(bars, [units.percent(float(each)) for each in share], padding=3)
    axes.set(title=f"Share of steady {word}s", xlabel="%", xlim=(0, min(float(share.max()) * 125 + 2, 125)))
    axes.spines[["top", "right"]].set_visible(False)
