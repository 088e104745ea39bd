"""Rule: an operator takes much of the time, and only one thread of the team runs in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.teams.known import Found, Known
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import ThreadProblem

_LONG = 0.15  # of the wall time
_BUSY_TEAM = 0.25  # an operator is serial if a smaller share of the team's other members runs
_CALLING = 0.25  # an operator whose calling thread ran for a smaller share of it waited for something


def serial(known: Known) -> Iterator[Found]:
    """Operators that take much of the time, and in which only one thread of the team runs."""
    team, found = known.teams.threads, known.processors
    rows = known.teams.operators
    usable = min(float(team or 1), known.allowed)
    if usable < 2:
        return
    strings = known.recording[Strings]
    least_ppm = _CALLING * 1_000_000
    busy = rows.helpers_ppm + rows.error_ppm < _BUSY_TEAM * (usable - 1) * np.maximum(rows.callers_ppm, 1)
    chosen = busy & (rows.callers_ppm >= least_ppm) & (rows.self_ns >= _LONG * found.wall_ns)
    for at in np.flatnonzero(chosen).tolist():
        idle = ((usable - 1) * int(rows.callers_ppm[at]) - int(rows.helpers_ppm[at])) / 1e6
        cost_ns = round(int(rows.self_ns[at]) * idle)
        name = strings[int(rows.name[at])]
        yield Found(ThreadProblem.SERIAL, team or 1, cost_ns, int(rows.frame[at]), name)
