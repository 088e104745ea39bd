"""All problems with threads, the costliest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from perfprobe.diagnose.teams.known import Found, Known
from perfprobe.diagnose.teams.lock import lock
from perfprobe.diagnose.teams.nested import nested
from perfprobe.diagnose.teams.other_processes import other_processes
from perfprobe.diagnose.teams.oversubscribed import oversubscribed
from perfprobe.diagnose.teams.serial import serial
from perfprobe.diagnose.teams.spinning import spinning
from perfprobe.diagnose.teams.workers import workers
from perfprobe.tables.columns import TEXT
from perfprobe.tables.findings import Findings
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, ThreadProblems, WorkerTeams


def thread_problems(findings: Findings) -> ThreadProblems | None:
    """The table of all problems; None if it is not known what threads did."""
    teams, found = findings.get(Teams), findings.get(Processors)
    if teams is None or found is None:
        return None
    known = Known(findings.trace, found, teams, findings.get(WorkerTeams))
    return _table(sorted(_found(known), key=lambda each: -each.cost_ns), teams.allowed_cores)


def _found(known: Known) -> Iterator[Found]:
    of_teams = list(nested(known))
    yield from of_teams or oversubscribed(known)
    for rule in (spinning, serial, lock, other_processes, workers):
        yield from rule(known)


def _table(found: Sequence[Found], allowed: float | None) -> ThreadProblems:
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
