"""Running threads over time, compared with allowed processors, and VTune's histogram of utilisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.report.picture.figure import drawn
from perfprobe.report.section.program import program
from perfprobe.support import units
from perfprobe.support.errors import InputError
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, Utilisation

_MOST_POINTS = 400  # parts of the time that are drawn; more are drawn as means
_LONGEST_TITLE = 100
_MILLION = 1e6
# Okabe and Ito's colours, which colour-blind readers can distinguish.
_CALLERS, _HELPERS, _OWN, _NEIGHBOURS = "#0072B2", "#56B4E9", "#D55E00", "#BBBBBB"
_COLORS = {
    Utilisation.IDLE: "#CCCCCC",
    Utilisation.POOR: "#D55E00",
    Utilisation.OK: "#E69F00",
    Utilisation.IDEAL: "#009E73",
    Utilisation.OVER: "#CC79A7",
}


def draw(findings: Findings, path: str) -> None:
    """Draw the threads to a file, in the format of its ending: .png, .svg, .pdf.

    Raises:
        InputError: threads were not read.
        EnvironmentLack: matplotlib is missing, or the file cannot be written.
    """
    teams = findings.get(Teams)
    if teams is None or len(teams.active) == 0:
        where = findings.trace.recording.path
        raise InputError("threads were not read", where, "record more than 0.5 s on Linux")
    with drawn(path, 13, 5) as figure:
        grid = figure.add_gridspec(1, 2, width_ratios=(4, 1))
        over_time(figure.add_subplot(grid[0, 0]), teams, findings[Processors])
        histogram(figure.add_subplot(grid[0, 1]), teams)
        figure.suptitle(printable(program(findings.trace))[:_LONGEST_TITLE])


def over_time(axes: Any, teams: Teams, found: Processors) -> None:
    """Draw running threads, and above them waiting ones, as the mean of each part of the time."""
    edges = edges_ns(teams)
    middle_s = (edges[1:] + edges[:-1]) / 2e9 - edges[0] / 1e9
    helpers = mean_of(teams, np.maximum(teams.active.helpers_ppm, 0), edges)
    callers = mean_of(teams, teams.active.active_ppm, edges) - helpers
    width_ns = np.diff(edges)
    own, others = (
        found.windows.between(name, edges[:-1], edges[1:]) / np.maximum(width_ns, 1)
        for name in ("own_ns", "others_ns")
    )
    labels = ("with Python", "team and others", "waiting for its own threads", "waiting for other processes")
    colors = (_CALLERS, _HELPERS, _OWN, _NEIGHBOURS)
    axes.stackplot(middle_s, callers, helpers, own, others, labels=labels, colors=colors, step="mid")
    if teams.allowed_cores is not None:
        label = f"allowed cores: {units.plain(teams.allowed_cores)}"
        axes.axhline(teams.allowed_cores, color="#333333", linestyle="--", linewidth=1, label=label)
    axes.set(xlabel="seconds", ylabel="threads", ylim=(0, None), xlim=(0, float(middle_s[-1]) or 1))
    axes.set_title("Threads that ran or waited for a processor", loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=5, frameon=False, fontsize=8)


def edges_ns(teams: Teams) -> Int64:
    """The ends of the parts of time that are drawn."""
    start_ns, end_ns = int(teams.active.start_ns[0]), int(teams.active.end_ns.max())
    points = min(_MOST_POINTS, len(teams.active))
    return np.linspace(start_ns, end_ns, points + 1).astype(np.int64)


def mean_of(teams: Teams, ppm: Int64, edges: Int64) -> npt.NDArray[np.float64]:
    """The mean number of threads in each part of the time."""
    active = teams.active
    moments = np.append(active.start_ns[:1], active.end_ns)
    summed = np.append(0.0, np.cumsum(ppm / _MILLION * (active.end_ns - active.start_ns)))
    return np.asarray(np.diff(np.interp(edges, moments, summed)) / np.maximum(np.diff(edges), 1))


def histogram(axes: Any, teams: Teams) -> None:
    """Draw the time of each class of VTune's effective CPU utilisation."""
    kinds = [Utilisation(kind) for kind in teams.times.utilisation.tolist()]
    share = teams.times.time_ns / max(int(teams.times.time_ns.sum()), 1)
    bars = axes.bar(
        [kind.name.lower() for kind in kinds], share * 100, color=[_COLORS[kind] for kind in kinds]
    )
    axes.bar_label(bars, [units.percent(float(each)) for each in share], fontsize=8)
    axes.set(ylabel="% of the time")
    axes.set_title("Utilisation", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
