"""The hot operators within steps."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Hotspots, ModuleTimes


@frozen
class StepHotspots:
    """The operators of the leading loop's steps that count, with the number and time of these steps.

    Attributes:
        modules: of these steps, by time of typical calls.
        time_ns: duration of the steps. If threads waited long for processors (`models.waiting.is_busy`),
            without what calls took beyond typical ones, and without waiting between operators.
    """

    hotspots: Hotspots
    modules: ModuleTimes
    time_ns: int
    steps: int

    def share(self, time_ns: int) -> float:
        """Returns a share of the steps' time."""
        return time_ns / self.time_ns
