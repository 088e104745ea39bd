"""The hot operators within steps."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.account import Account
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Hotspots, ModuleTimes


@frozen
class StepHotspots:
    """The operators of the leading loop's steps that count.

    Attributes:
        hotspots: its typical times are without waiting for a processor, as the account has them.
        modules: of these steps, by the same times.
        account: of these steps.
        calls: number of operators and ranges in each step, by time.
    """

    hotspots: Hotspots
    modules: ModuleTimes
    account: Account
    calls: Int64

    @property
    def steps(self) -> int:
        """The number of steps that count."""
        return self.account.steps

    @property
    def time_ns(self) -> int:
        """Their time without waiting for a processor."""
        return self.account.own_ns

    def share(self, time_ns: int) -> float:
        """Returns a share of the steps' own time."""
        return self.account.share(time_ns)
