"""Runs of a whole program with several settings of threads, in pairs with the program as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perfprobe.support.frozen import frozen
from perfprobe.tables.measurements import Estimate


@frozen
class SweepSetting:
    """A setting to try.

    Attributes:
        variables: environment variables to set.
        workers: number of the loader's workers, None to leave it as it is.
    """

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    workers: int | None = None

    @property
    def to_paste(self) -> str:
        """What a user types for this setting, as in `export OMP_NUM_THREADS=1`."""
        set_ = " ".join(f"{name}={value}" for name, value in self.variables.items())
        loader = "" if self.workers is None else f"num_workers={self.workers}"
        return ", ".join(filter(None, [f"export {set_}" if set_ else "", loader]))


@frozen
class SweepRun:
    """A run with a setting.

    Attributes:
        setting: index of the setting in `Sweep.settings`.
        time_ns: mean time of the steady steps; time of the whole run if it had no steps.
        threads: number of torch's threads, None if not known.
    """

    setting: int
    round: int
    time_ns: float
    steps: int
    threads: int | None


@frozen
class Sweep:
    """All runs of a sweep.

    Attributes:
        settings: the first one is the program as it is.
        stopped: why the sweep ended early, "" if it did not.
        exit_code: 0, or that of an interrupt.
    """

    program: str
    settings: tuple[SweepSetting, ...]
    runs: tuple[SweepRun, ...]
    stopped: str = ""
    exit_code: int = 0

    @property
    def by_steps(self) -> bool:
        """Whether the times of all runs are times of steps."""
        return all(run.steps > 0 for run in self.runs)


@frozen(kw_only=True)
class SweepRow:
    """The result of all runs with one setting.

    Attributes:
        time_ns: mean over the runs.
        pairs: number of rounds in which this setting and the program as it is both ran.
        gain: time of the program as it is divided by the time with this setting in the same round; geometric
            mean.
        low, high, coverage: interval of the gain, which together with those of the other settings holds the
            truth so often; None with fewer than five pairs.
        asked: number of torch's threads that was asked for, None if none was.
        threads: number of torch's threads in the last run, None if not known.
    """

    setting: str
    time_ns: float
    pairs: int
    gain: float
    low: float | None
    high: float | None
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
