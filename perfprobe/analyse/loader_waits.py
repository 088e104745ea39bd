"""When the main process waited for DataLoader's workers: torch records each `next` as a range."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace
from perfprobe.tables.workers import LoaderWaits

_RANGE = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class WaitsForLoaders:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._is_next = trace.recording[Strings].marks(lambda text: text == _RANGE)
        self._found: list[tuple[Int64, Int64]] = []

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        rows = self._is_next[batch.name]
        if bool(rows.any()):
            self._found.append((batch.start_ns[rows], batch.end_ns[rows]))

    def result(self) -> LoaderWaits | None:
        """The waits, in ns; None if there is no such range."""
        if not self._found:
            return None
        start_ns, end_ns = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        return LoaderWaits(start_ns=start_ns, end_ns=np.maximum(start_ns, end_ns))
