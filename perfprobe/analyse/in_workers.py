"""What the workers of DataLoaders did, by their own recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from perfprobe.analyse.beside import Partly, WorkerRecordings
from perfprobe.analyse.teams.workers import worker_teams
from perfprobe.analyse.worker_samples import Parts, parts_of
from perfprobe.support.errors import InputError
from perfprobe.tables.events import Losses
from perfprobe.tables.teams import WorkerTeams
from perfprobe.tables.trace import Line, Trace


class InWorkers(NamedTuple):
    """parts: by process, what samples show of it. teams: a row for each worker whose threads were read."""

    parts: Mapping[int, Parts]
    teams: WorkerTeams


def in_workers(workers: WorkerRecordings) -> InWorkers | Partly:
    """Reads the recordings one by one. If one cannot be read, there is only a loss."""
    parts: dict[int, Parts] = {}

    def each() -> Iterator[tuple[int, Trace, Mapping[Line, int]]]:
        for process, trace in workers.opened():
            parts[process] = parts_of(trace)
            yield process, trace, parts[process].lines_ns

    try:
        return InWorkers(parts, worker_teams(each()))
    except InputError as error:
        return Partly(None, [Losses.unread("processes", error)])
