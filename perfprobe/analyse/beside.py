"""What passes over a run need of it, besides the recording: other recordings, and files about it.

Only `runs.Run` finds and opens files. It hands these to the passes, whose `needs` name them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Trace
from perfprobe.tables.workers import Workers


class Recorded(Protocol):
    """One of several recordings. Reading it raises InputError if that is not possible."""

    @property
    def path(self) -> str:
        """Its file, as it was named."""

    @property
    def trace(self) -> Trace:
        """What was recorded, linked."""

    def find(self, kinds: Iterable[type | str]) -> Findings:
        """Returns these findings about it, as `Analysis.find`."""


class Together(NamedTuple):
    """All recordings that were named together, this one first: ranks of a job, or runs to compare."""

    runs: Sequence[Recorded]


class Rotated(NamedTuple):
    """All files of a run that was recorded with `--keep slow`, this one first."""

    runs: Sequence[Recorded]


class WorkerRecordings(NamedTuple):
    """Children of `multiprocessing`.

    Attributes:
        sheet: what each wrote about itself; at least one row.
        opened: yields process and trace of each worker of a DataLoader that has a recording, one after the
            other. Raises InputError if one cannot be read.
    """

    sheet: Workers
    opened: Callable[[], Iterator[tuple[int, Trace]]]


class Partly(NamedTuple):
    """What a pass returns if something is missing. found: the finding, None if there is none."""

    found: Any
    losses: Sequence[Losses]
