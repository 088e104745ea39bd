"""Hot operators of steps alone."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Hotspots


@frozen
class StepHotspots:
    """The operators of the leading loop's steps that were not left out: so many, this long together."""

    hotspots: Hotspots
    time_ns: int
    steps: int

    def share(self, time_ns: int) -> float:
        """Of the steps' wall time."""
        return time_ns / self.time_ns
