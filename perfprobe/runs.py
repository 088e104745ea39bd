"""Opens recordings, and finds what lies beside each: children, other ranks, further files, measurements."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from perfprobe.analyse.analysis import Analysis
from perfprobe.analyse.beside import Partly, Rotated, Together, WorkerRecordings
from perfprobe.analyse.findings import Asked
from perfprobe.merge import link
from perfprobe.merge.children import children_ran, lost_children, worker_times
from perfprobe.read import children
from perfprobe.support.errors import InputError
from perfprobe.tables import storage
from perfprobe.tables.children import Children
from perfprobe.tables.events import Losses
from perfprobe.tables.measurements import Measurements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from perfprobe.tables.findings import Findings
    from perfprobe.tables.recording import Recording
    from perfprobe.tables.spent import Spent
    from perfprobe.tables.trace import Trace
    from perfprobe.tables.workers import Workers

# Ranks that are compared without being asked for: reading them takes as long as reading this one so often.
_MOST_RANKS, _MOST_BYTES = 8, 64 << 20
_MOST_READ = 64  # recordings; a program keeps 16 of forked children, and those of all spawned children


class Run:
    """A recording, a trace or a profile, with what lies beside it. It is opened when first needed.

    Args:
        path: the file.
        others: recordings that were named together with it: the other ranks of a job, further files of a run
            that was rotated, or another run.
        largest_bytes: the largest size of a trace, after it was expanded; None for the usual one.

    Every method raises InputError if a file cannot be read.
    """

    def __init__(self, path: str, others: Sequence[Run] = (), largest_bytes: int | None = None) -> None:
        self.path = path
        self.others = others
        self._largest_bytes = () if largest_bytes is None else (largest_bytes,)
        self._opened: dict[str, Recording] = {}  # of children, by path

    @cached_property
    def recording(self) -> Recording:
        """What was recorded, as saved."""
        return _read(self.path, *self._largest_bytes)

    @cached_property
    def trace(self) -> Trace:
        """The same, linked."""
        trace = link(self.recording)
        children = [*self._readable_children()]
        return replace(trace, children_ran=children_ran(children), worker_times=worker_times(children))

    @cached_property
    def _analysis(self) -> Analysis:
        return Analysis(self.trace)

    def find(self, kinds: Iterable[type | str], asked: Asked | None = None) -> Findings:
        """Returns those of the requested findings that the run has: see `Analysis.find`."""
        return self._analysis.find(kinds, Asked() if asked is None else asked, self._beside)

    def spent(self, by: str | None) -> type[Spent]:
        """The time by stack that a view shows: see `Analysis.spent`."""
        return self._analysis.spent(by)

    def _beside(self, kind: type, asked: Asked) -> Any:
        """What `analyse.findings.BESIDE` lists."""
        if kind is Together:
            return self._together(asked)
        ways: dict[type, Callable[[], Any]] = {
            Measurements: self._measured,
            Children: self._started,
            WorkerRecordings: self._workers,
            Rotated: self._rotated,
        }
        return None if self.recording.is_profile else ways[kind]()

    def _together(self, asked: Asked) -> Together | None:
        """What was named together with it; else the ranks of its job, or of the job that it started."""
        if not self.others and self._ranks:
            return Together(self._ranks)
        return Together([self, *self.others]) if asked.together or self.others else None

    @cached_property
    def _ranks(self) -> list[Run]:
        """All ranks of a small job, if they are beside this recording; else none."""
        is_rank = self.recording.rank_fact("rank") is not None
        paths = children.siblings(self.recording) if is_rank else [p for p, _ in self._children.recordings]
        found: dict[int, Run] = {}
        sizes = set()
        for path in paths if 1 < len(paths) <= _MOST_READ else ():
            with suppress(InputError):
                run = self._run_of(path)
                rank, size = _rank_of(run.recording)
                if rank is not None and size is not None:
                    found[rank] = run
                    sizes.add(size)
        size_bytes = sum(os.path.getsize(run.path) for run in found.values())
        is_small = len(found) <= _MOST_RANKS and size_bytes <= _MOST_BYTES
        return [run for _, run in sorted(found.items())] if is_small and sizes == {len(found)} else []

    def _run_of(self, path: str) -> Run:
        """The run of a recording beside this one, or this run itself; what was opened is not read again."""
        if os.path.abspath(path) == os.path.abspath(self.path):
            return self
        run = Run(path)
        run.recording = self._open(path)
        return run

    @cached_property
    def _measurements(self) -> Partly:
        from perfprobe.merge.measured import measurements

        return Partly(*measurements(self.recording))

    @cached_property
    def _children(self) -> Children:
        return children.children(self.recording)

    @cached_property
    def _sheet(self) -> Workers | Losses:
        try:
            return children.sums(self.recording)
        except InputError as error:
            return Losses.unread("processes", error)

    def _measured(self) -> Partly:
        return self._measurements

    def _started(self) -> Partly:
        return Partly(self._children, lost_children(self._children))

    def _workers(self) -> WorkerRecordings | Partly | None:
        sheet = self._sheet
        if isinstance(sheet, Losses):
            return Partly(None, [sheet])
        return WorkerRecordings(sheet, lambda: self._traces_of(sheet)) if len(sheet) else None

    def _rotated(self) -> Rotated | None:
        if not self.recording.is_kept:
            return None
        return Rotated([self, *(self.others or map(Run, storage.rotated(self.path)))])

    def _traces_of(self, workers: Workers) -> Iterator[tuple[int, Trace]]:
        for process, path in children.detailed_workers(self.recording, workers):
            yield process, link(self._open(path))

    def _readable_children(self) -> Iterator[Recording]:
        for path, _ in self._children.recordings[:_MOST_READ]:
            with suppress(InputError):  # `WorkerRecordings` reports it
                yield self._open(path)

    def _open(self, path: str) -> Recording:
        """The recording of a child process, which is opened once."""
        key = os.path.abspath(path)
        if key not in self._opened:
            self._opened[key] = storage.read(path)
        return self._opened[key]


def several(paths: Sequence[str], largest_bytes: int | None = None) -> Iterator[Run]:
    """Opens runs one by one. If they are ranks of one job, each is compared with the others."""
    opened = [Run(path, (), largest_bytes) for path in paths]
    if not _are_ranks(opened):
        return (Run(path, (), largest_bytes) for path in paths)  # so that one at a time is in memory
    for run in opened:
        run.others = [other for other in opened if other is not run]
    return iter(opened)


def _are_ranks(runs: Sequence[Run]) -> bool:
    """Whether these are different ranks of a job, as far as they can be read."""
    ranks, sizes = set(), set()
    for run in runs:
        try:
            rank, size = _rank_of(run.trace.recording)
        except InputError:  # said when its report is made
            return False
        if rank is None or size is None:
            return False
        ranks.add(rank)
        sizes.add(size)
    return len(ranks) == len(runs) > 1 == len(sizes)


def _rank_of(recording: Recording) -> tuple[int | None, int | None]:
    """Its rank, and how many ranks its job has."""
    return recording.rank_fact("rank"), recording.rank_fact("world_size")


def _read(path: str, *largest_bytes: int) -> Recording:
    file = storage.opened(path)
    if storage.is_recording(file):
        return storage.read(file)
    from perfprobe.read import kineto, pstats  # no recording needs them

    if pstats.is_pstats(file):
        return pstats.read(file)
    return kineto.read(file, *largest_bytes) if kineto.is_file(file) else storage.read(file)
