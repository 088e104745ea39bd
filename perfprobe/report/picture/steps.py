"""Steps as a picture: the phases of each, how long each took, and the phases of all together."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.report.picture.figure import drawn
from perfprobe.report.picture.step_axes import Shown, durations, phases, shares
from perfprobe.report.section.program import program
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.support.text import printable
from perfprobe.tables.columns import Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import INFERENCE_TEXTS, PHASE_TEXTS, StepKind, StepPhase, StepTimes

_LONGEST_TITLE = 100


def draw(findings: Findings, path: str) -> None:
    """Draw the steps to a file, in the format of its ending: .png, .svg, .pdf.

    Raises:
        InputError: no steps were found.
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    times = findings.get(StepTimes)
    if times is None or len(times.loops) == 0:
        where = findings.trace.recording.path
        raise InputError("there are no steps to draw", where, "`perfprobe graph` draws calls")
    with drawn(path, 13, 7.5) as figure:
        shown = shown_of(times)
        fill(figure, times, shown)
        name = printable(program(findings.trace))[:_LONGEST_TITLE]
        figure.suptitle(f"{name}: {said(times, shown.word)}")


def shown_of(times: StepTimes) -> Shown:
    """The steps of the leading loop and their phases, for the axes."""
    first = int(np.flatnonzero(times.steps.loop == 0)[0])
    steps = times.steps.take(times.steps.loop == 0)
    is_inference = int(times.loops.kind[0]) != StepKind.TRAINING
    texts = INFERENCE_TEXTS if is_inference else PHASE_TEXTS
    by_phase = phase_times(times, first, len(steps))
    return Shown(steps, by_phase, texts, "call" if is_inference else "step")


def said(times: StepTimes, word: str) -> str:
    """Number and duration of steps: `40 steps, 1 left out, median 18.1 ms, p95 20 ms`."""
    loops = times.loops
    number, left_out = int(loops.steps[0]), int(loops.steps[0] - loops.steady[0])
    out = f", {left_out:,} left out" if left_out else ""
    median, p95 = units.duration(int(loops.median_ns[0])), units.duration(int(loops.p95_ns[0]))
    return f"{number:,} {word if number == 1 else word + 's'}{out}, median {median}, p95 {p95}"


def fill(figure: Any, times: StepTimes, shown: Shown) -> None:
    """Draw all axes into a figure."""
    grid = figure.add_gridspec(2, 2, width_ratios=(3, 1))
    above = figure.add_subplot(grid[0, 0])
    phases(above, shown)
    durations(figure.add_subplot(grid[1, 0], sharex=above), shown, times.loops)
    shares(figure.add_subplot(grid[:, 1]), shown, times.phases.take(times.phases.loop == 0))


def phase_times(times: StepTimes, first: int, count: int) -> Any:
    """Nanoseconds by phase and step of the leading loop. first: the row of its first step."""
    rows = times.step_phases
    own: Mask = (rows.step >= first) & (rows.step < first + count)
    found = np.zeros((max(StepPhase) + 1, count), np.int64)
    np.add.at(found, (rows.phase[own], rows.step[own] - first), rows.time_ns[own])
    return found
