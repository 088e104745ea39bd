"""Everything about threads in one finding: inventory, activity, operators and problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.teams.active import active_threads, activity, utilisation_times
from perfprobe.analyse.teams.inventory import inventory
from perfprobe.analyse.teams.operators import OperatorActivity
from perfprobe.analyse.teams.problems import Found, Known, problems, spinning
from perfprobe.tables.columns import TEXT
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, ThreadProblems
from perfprobe.tables.trace import Trace


def teams(trace: Trace, found: Processors | None, operators: OperatorActivity) -> Teams | None:
    """Everything about threads; None if fewer than two readings of their clocks were recorded."""
    if found is None:
        return None
    recording = trace.recording
    threads = recording.number("torch", "threads")
    active = active_threads(recording, found)
    known = Known(
        trace,
        found,
        inventory(recording, found.threads),
        operators,
        None if threads is None else int(threads),
    )
    return Teams(
        inventory=known.inventory,
        active=active,
        times=utilisation_times(active),
        operators=operators.operators,
        problems=problem_rows(problems(known), found.allowed_cores),
        threads=known.team,
        allowed_cores=found.allowed_cores,
        by_ticks=len(activity(recording)) > 0,
        spun_ns=_spun_ns(trace, operators),
        team_threads=known.team_threads,
    )


def problem_rows(found: Sequence[Found], allowed: float | None) -> ThreadProblems:
    """The table of these problems."""
    ppm = -1 if allowed is None else round(allowed * 1_000_000)
    names = np.array([*(each.name for each in found), None], TEXT)[:-1]
    return ThreadProblems(
        problem=np.array([each.problem for each in found], np.int8),
        threads=np.array([each.threads for each in found], np.int32),
        allowed_ppm=np.full(len(found), ppm, np.int64),
        cost_ns=np.array([each.cost_ns for each in found], np.int64),
        frame=np.array([each.frame for each in found], np.int32),
        name=names,
    )


def _spun_ns(trace: Trace, operators: OperatorActivity) -> int | None:
    """CPU time in ns that helpers certainly spun, in all intervals between ticks."""
    rows = activity(trace.recording)
    return int(spinning(rows, operators.open_ns)[0].sum()) if len(rows) else None
