"""Steps of a run with `--keep slow`: sums of all, and rows of the slow ones."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line


class Fate(IntEnum):
    """What became of the rows of operators."""

    ORDINARY = 0  # their step is not slow: only added up
    SLOW = 1  # their step is slow: kept
    APART = 2  # between steps, in evaluations or in steps of --baseline: only added up
    BEYOND = 3  # the step did not fit in the buffer: added up before it ended
    UNKEPT = 4  # their step is slow, but too many were kept before: only added up


class StepSums(Table, name="step_sums", most_rows=MOST_EVENTS):
    """All steps in a stretch of time. A sum is -1 if the value of one of them is not known."""

    start_ns: Int64 = column("when the first one started")
    end_ns: Int64 = column("when the last one ended")
    steps: Int64 = column("number of steps")
    slow: Int64 = column("number of slow ones")
    total_ns: Int64 = column("sum of their durations")
    least_ns: Int64 = column("duration of the shortest")
    median_ns: Int64 = column("median duration, by nearest rank, of at most 4,096 steps drawn at random")
    p95_ns: Int64 = column("95th percentile of these durations, by nearest rank")
    most_ns: Int64 = column("duration of the longest")
    reader_ns: Int64 = column("time in the loader's `next`")
    cpu_ns: Int64 = column("CPU time of the loop's thread", optional=True)
    waited_ns: Int64 = column("time in which that thread waited for a processor", optional=True)
    collected_ns: Int64 = column("time of garbage collections", optional=True)
    samples: Int64 = column("samples of the batches", optional=True)


class OperatorSums(Table, name="operator_sums", most_rows=MOST_EVENTS):
    """Calls of an operator with the same inputs and stack, in steps with the same fate.

    A row has the calls since the row before it with the same key.
    """

    until_ns: Int64 = column("when they were added up")
    fate: Int8 = column("a `Fate`")
    name: Int32 = column("the operator; -1 for all beyond 32,768 different rows", Strings)
    overload: Int32 = column("its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    stack: Int32 = column("the Python stack it was called from", Stacks)
    calls: Int64 = column("number of calls")
    total_ns: Int64 = column("sum of their durations")
    self_ns: Int64 = column("the same without operators that they called")
    most_ns: Int64 = column("duration of the longest call")
    below_1us: Int64 = column("calls shorter than 1 us")
    below_4us: Int64 = column("calls of 1 to 4 us")
    below_16us: Int64 = column("calls of 4 to 16 us")
    below_64us: Int64 = column("calls of 16 to 64 us")
    below_256us: Int64 = column("calls of 64 to 256 us")
    below_1ms: Int64 = column("calls of 0.256 to 1.024 ms")
    below_4ms: Int64 = column("calls of 1 to 4 ms")
    below_16ms: Int64 = column("calls of 4 to 16 ms")
    below_64ms: Int64 = column("calls of 16 to 66 ms")
    below_256ms: Int64 = column("calls of 66 to 262 ms")
    below_1s: Int64 = column("calls of 0.26 to 1.05 s")
    longer: Int64 = column("calls that took longer")


class SampleSums(Table, name="sample_sums", most_rows=MOST_EVENTS):
    """Samples of a thread with the same Python stack, in steps with the same fate.

    A row has the samples since the row before it with the same key.
    """

    until_ns: Int64 = column("when they were added up")
    fate: Int8 = column("a `Fate`")
    thread: Int32 = column("the thread; -1 for all beyond 32,768 different rows", Threads)
    stack: Int32 = column("its Python stack, -1 for none", Stacks)
    looks: Int64 = column("number of looks")
    time_ns: Int64 = column("the time they stand for")


@frozen
class More:
    """Something that the loop's thread did longer in a slow step than in an ordinary one.

    Attributes:
        what: "waiting for data", "waiting for a processor", "garbage collection", "running", or "blocked"
            (none of these).
        usual_ns: mean over ordinary steps.
    """

    what: str
    time_ns: int
    usual_ns: int

    @property
    def more_ns(self) -> int:
        """The difference."""
        return self.time_ns - self.usual_ns


@frozen
class LineTime:
    """Time of one line in a step, or by how much it differs. operator: the one with most of it, or None."""

    line: Line
    time_ns: float
    operator: str | None = None


@frozen
class SlowStep:
    """A slow step. start_s: since the epoch.

    Attributes:
        parts: what took longer than in an ordinary step, most first.
        lines: lines that took longer than in an ordinary step, and by how much, most first; empty if the
            step's rows were not kept.
        phases: names of phases that took longer, and by how much.
    """

    number: int
    start_s: float
    time_ns: int
    is_kept: bool
    is_partial: bool
    parts: Sequence[More]
    lines: Sequence[LineTime]
    phases: Sequence[tuple[str, int]]


@frozen
class Stretch:
    """All steps in a stretch of time, as in `StepSums`. waited_ns: None if it is not known."""

    start_s: float
    end_s: float
    steps: int
    slow: int
    total_ns: int
    median_ns: int
    p95_ns: int
    most_ns: int
    waited_ns: int | None = None

    @property
    def own_ns(self) -> float | None:
        """The mean duration of a step without waiting for a processor."""
        return None if self.waited_ns is None else max(self.total_ns - self.waited_ns, 0) / max(self.steps, 1)


@frozen
class KeptPart:
    """Steps of one recording. lines: when a sum was written (seconds since the epoch), the line, its time."""

    path: str
    stretches: Sequence[Stretch]
    slow: Sequence[SlowStep]
    lines: Sequence[tuple[float, Line, int]]
    ordinary: int
    usual: Sequence[tuple[str, float]]


@frozen
class Change:
    """How step times changed from the first fifth of the time to the last one.

    noise: twice the median deviation of stretches from their median, relative to it.
    """

    first_ns: int
    last_ns: int
    noise: float

    @property
    def share(self) -> float:
        """The change, relative to the first."""
        return self.last_ns / max(self.first_ns, 1) - 1

    @property
    def is_clear(self) -> bool:
        """Whether the change is larger than the noise."""
        return abs(self.share) > max(self.noise, 0.03)


@frozen
class Drift:
    """A change of step times, and the part of it that the program caused.

    Attributes:
        medians: of all steps.
        own: means without the time in which the loop's thread waited for a processor, which depends on other
            processes and threads; None where it is not known.
        lines: the lines with the largest changes of their time in a step, with the change.
    """

    medians: Change
    own: Change | None
    lines: Sequence[LineTime]

    @property
    def is_clear(self) -> bool:
        """Whether the program's own time changed by more than the noise."""
        return (self.own or self.medians).is_clear


class FileLoss(NamedTuple):
    """A loss of one of the files. source, reason: as in `Losses`."""

    path: str
    source: str
    reason: str


@frozen
class KeptRun:
    """A run with `--keep slow`: one recording, or all files that it was rotated into."""

    parts: Sequence[KeptPart]
    median_ns: int
    drift: Drift | None
    losses: Sequence[FileLoss] = ()
