"""Hot operators of steps only."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Hotspots, ModuleTimes


@frozen
class StepHotspots:
    """The operators of the leading loop's steps that were not left out; with the number and sum of the steps.

    modules: theirs, by time of typical calls. time_ns: where threads waited long for processors
    (`models.waiting.is_busy`) less what calls took beyond typical ones.
    """

    hotspots: Hotspots
    modules: ModuleTimes
    time_ns: int
    steps: int

    def share(self, time_ns: int) -> float:
        """A share of the steps' time."""
        return time_ns / self.time_ns
