"""Runs of a whole program with several settings of threads, in pairs with the program as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perfprobe.support.frozen import frozen
from perfprobe.tables.measurements import Estimate


@frozen
class SweepSetting:
    """A setting to try. name: as it was asked for; variables: of the environment; workers: of the loader."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    workers: int | None = None

    @property
    def to_paste(self) -> str:
        """What a user would type: `export OMP_NUM_THREADS=1`."""
        set_ = " ".join(f"{name}={value}" for name, value in self.variables.items())
        loader = "" if self.workers is None else f"num_workers={self.workers}"
        return ", ".join(filter(None, [f"export {set_}" if set_ else "", loader]))


@frozen
class SweepRun:
    """A run. time_ns: the median of its steady steps, or all of it; threads: of torch, None not known."""

    setting: int
    round: int
    time_ns: float
    steps: int
    threads: int | None


@frozen
class Sweep:
    """All runs. settings: the first one is the program as it is. stopped: why it ended early, or ""."""

    program: str
    settings: tuple[SweepSetting, ...]
    runs: tuple[SweepRun, ...]
    stopped: str = ""

    @property
    def by_steps(self) -> bool:
        """Whether all times are of steps."""
        return all(run.steps > 0 for run in self.runs)


@frozen(kw_only=True)
class SweepRow:
    """What runs of a setting took. gain: time of the program as it is in that of this setting, both of one
    round: median of all pairs, with interval; coverage: how certain the interval is. asked, threads: the
    number of torch's threads that was asked for, and that of the last run.
    """

    setting: str
    time_ns: float
    pairs: int
    gain: float
    low: float
    high: float
    coverage: float
    asked: int | None
    threads: int | None
    to_paste: str


@frozen
class TimeOfThreads:
    """The time of a call with so many threads."""

    threads: int
    time: Estimate


@frozen(kw_only=True)
class OperatorSweepRow:
    """A call with several numbers of threads. line: of the program, None for a call typed by hand.

    best: the fewest threads than which no other number is faster for certain; speedup: of those, beside the
    fewest that were measured.
    """

    operator: str
    signature: str
    line: str | None
    calls: int | None
    times: tuple[TimeOfThreads, ...]
    best: int
    speedup: float
