"""The passes over a run that join files. What they use is imported only if there is something to join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from perfprobe.analyse.beside import Partly, Rotated, Together, WorkerRecordings
from perfprobe.support.errors import InputError
from perfprobe.tables.events import Losses
from perfprobe.tables.kept import KeptPart, KeptRun
from perfprobe.tables.ranks import RankParts, Ranks
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.teams import WorkerTeams
from perfprobe.tables.trace import Line, Trace
from perfprobe.tables.workers import LoaderWaits, WorkerFindings

if TYPE_CHECKING:
    from perfprobe.analyse.worker_samples import Parts


class InWorkers(NamedTuple):
    """What DataLoader's workers did, by their own recordings.

    parts: by process, what samples show of it. teams: a row for each worker whose threads were read.
    """

    parts: Mapping[int, Parts]
    teams: WorkerTeams


def in_workers(workers: WorkerRecordings) -> InWorkers | Partly:
    """Reads the recordings one by one. If one cannot be read, there is only a loss."""
    from perfprobe.analyse.teams.workers import worker_teams
    from perfprobe.analyse.worker_samples import parts_of

    parts: dict[int, Parts] = {}

    def each() -> Iterator[tuple[int, Trace, Mapping[Line, int]]]:
        for process, trace in workers.opened():
            parts[process] = parts_of(trace)
            yield process, trace, parts[process].lines_ns

    try:
        return InWorkers(parts, worker_teams(each()))
    except InputError as error:
        return Partly(None, [Losses.unread("processes", error)])


def of_workers(
    trace: Trace, workers: WorkerRecordings, inside: InWorkers | None, waits: LoaderWaits | None
) -> WorkerFindings | None:
    """All children, and a row for each DataLoader; None if a recording of a worker cannot be read."""
    from perfprobe.analyse.worker_findings import worker_findings

    return None if inside is None else worker_findings(trace, workers.sheet, waits, inside.parts)


def ranks(together: Together) -> Ranks:
    """Compares the recordings of all ranks.

    Raises:
        InputError: one of them cannot be read, or is a profile.
    """
    from perfprobe.analyse.ranks.compare import compared

    for run in together.runs:
        if run.trace.recording.is_profile:
            remedy = "name recordings, or traces of torch.profiler"
            raise InputError("a profile of cProfile does not have ranks", run.path, remedy)
    return compared([run.find((RankParts, StepTimes)) for run in together.runs])


def kept_run(rotated: Rotated) -> KeptRun:
    """Steps of the whole run. Raises InputError if one of its files cannot be read."""
    from perfprobe.analyse.kept.joined import joined, losses_of

    found = [(run.path, run.find((KeptPart,))) for run in rotated.runs]
    parts = [part for _, each in found if (part := each.get(KeptPart)) is not None]
    return joined(parts, [loss for path, each in found for loss in losses_of(path, each)])
