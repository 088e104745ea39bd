"""A picture of memory: what was held over time, by category."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.report.picture.figure import drawn
from perfprobe.report.section.program import program
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.memory import CATEGORY_TEXTS, MemoryCategory, MemoryUse
from perfprobe.tables.steps import StepTimes

_LONGEST_TITLE = 100
_MOST_STEPS = 60  # with more steps, their lines would cover the areas
# Colours of Okabe and Ito, from bottom to top: long-lived memory is at the bottom.
_COLORS = {
    MemoryCategory.PARAMETER: "#0072B2",
    MemoryCategory.OPTIMIZER: "#009E73",
    MemoryCategory.INPUT: "#E69F00",
    MemoryCategory.KEPT: "#D55E00",
    MemoryCategory.GRADIENT: "#56B4E9",
    MemoryCategory.ACTIVATION: "#CC79A7",
    MemoryCategory.TEMPORARY: "#BBBBBB",
}


def draw(findings: Findings, path: str) -> None:
    """Draw it to a file, in the format of its ending: .png, .svg, .pdf.

    Raises:
        InputError: no memory was recorded.
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    use = findings.get(MemoryUse)
    if use is None:
        where = findings.trace.recording.path
        raise InputError("there is no memory to draw", where, "record it with `perfprobe run --memory`")
    with drawn(path, 13, 6) as figure:
        axes = figure.subplots()
        _fill(axes, findings, use)
        name = printable(program(findings.trace))[:_LONGEST_TITLE]
        figure.suptitle(f"{name}: memory of tensors, peak {units.size(use.peak_bytes)}")


def _fill(axes: Any, findings: Findings, use: MemoryUse) -> None:
    zero_ns = findings.trace.start_ns or int(use.timeline.time_ns[0])
    times_ns, held = by_moment(use)
    seconds = (times_ns - zero_ns) / 1e9
    shown = [category for category in _COLORS if held[category].any()]
    scale, unit = _scale(int(use.peak_bytes))
    axes.stackplot(
        seconds,
        [held[category] / scale for category in shown],
        labels=[CATEGORY_TEXTS[category] for category in shown],
        colors=[_COLORS[category] for category in shown],
        step="post",
        linewidth=0,
    )
    _mark_steps(axes, findings, zero_ns)
    peak = ((use.peak_ns - zero_ns) / 1e9, use.peak_bytes / scale)
    axes.plot(*peak, marker="v", color="black", markersize=6, linestyle="none", label="peak")
    axes.set(xlabel="seconds since the start", ylabel=unit, ylim=(0, None))
    axes.margins(x=0)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="upper left", fontsize=8, framealpha=0.8)


def by_moment(use: MemoryUse) -> tuple[Any, Any]:
    """Returns the moments of the timeline, and bytes by category and moment."""
    rows = use.timeline
    is_first = np.append(True, rows.time_ns[1:] != rows.time_ns[:-1])[: len(rows)]
    moment = np.cumsum(is_first) - 1
    held = np.zeros((len(MemoryCategory), int(is_first.sum())))
    held[rows.category, moment] = rows.held_bytes
    return rows.time_ns[is_first], held


def _mark_steps(axes: Any, findings: Findings, zero_ns: int) -> None:
    times = findings.get(StepTimes)
    if times is None or len(times.loops) == 0:
        return
    end_ns = times.steps.end_ns[times.steps.loop == 0]
    if len(end_ns) <= _MOST_STEPS:
        for at in ((end_ns - zero_ns) / 1e9).tolist():
            axes.axvline(at, color="black", linewidth=0.4, alpha=0.5)


def _scale(peak_bytes: int) -> tuple[int, str]:
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if peak_bytes >= 1 << (10 * power):
            return 1 << (10 * power), unit
    return 1, "bytes"
