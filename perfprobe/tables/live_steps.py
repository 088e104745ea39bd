"""Steps that were found while the program ran, and the figures of a benchmark."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.steps import StepSource


class LiveSteps(Table, name="live_steps", most_rows=MOST_EVENTS):
    """Steps, and evaluations between steps, found by the ranges that torch sets, without recording operators.

    A step reaches from a call of the loader's `next` to the `next` of the following step. Without a loader it
    reaches from the end of one optimizer's step to the end of the next. Loops of inference without a loader
    or marks of `perfprobe.step()` have none: their steps are found in the operators afterwards, as repeated
    calls of the model. Of steps shorter than 4 ms times of the thread are only read with `--keep slow` and
    `--baseline`.
    """

    start_ns: Int64 = column("when it started")
    end_ns: Int64 = column("when it ended")
    thread: Int32 = column("the thread that ran it", Threads)
    number: Int32 = column("number of the step, from 0 for each source; -1 for an evaluation")
    source: Int8 = column("a `StepSource`; only steps of the lowest one in a recording count")
    is_evaluation: Int8 = column("1 if no optimizer's step followed the batches")
    reader_ns: Int64 = column("the part of its time in the loader's `next`", optional=True)
    batches: Int32 = column("number of batches, -1 if not known")
    samples: Int64 = column(
        "number of samples: sum of the first dimension of its batches, if all tensors of a batch agree on it",
        optional=True,
    )
    is_recorded: Int8 = column("1 if operators were recorded during it")
    is_baseline: Int8 = column(
        "1 if it was only timed: `--baseline` left it out, to measure what recording adds, or `--budget`, to "
        "bound that",
        optional=True,
    )
    is_slow: Int8 = column("1 if slow compared with the steps before it (`--keep slow`)", optional=True)
    is_partial: Int8 = column("1 if it did not fit in the buffer, so that rows are missing", optional=True)
    cpu_ns: Int64 = column("CPU time of its thread", optional=True)
    clock_ns: Int64 = column("CPU clock of its thread at its end", optional=True)
    waited_ns: Int64 = column("time in which its thread waited for a processor", optional=True)
    collected_ns: Int64 = column("time of Python's garbage collections", optional=True)
    rss_bytes: Int64 = column("resident memory of the process at its end, read every 10 ms", optional=True)

    def counted(self) -> LiveSteps:
        """Returns the rows of the preferred source of steps, which has the lowest number."""
        return self.take(self.source == self.source.min()) if len(self) else self


@frozen
class Added:
    """A median over pairs, and its 95 % interval; None with fewer than six pairs."""

    median: float
    low: float | None
    high: float | None

    @property
    def is_sure(self) -> bool:
        """Whether the interval is at most ten points wide."""
        return self.low is not None and self.high is not None and self.high - self.low <= 0.1


@frozen
class Baseline:
    """Compares untraced steps with the traced steps just before and after them, in the same process.

    Attributes:
        steps: number of untraced steps.
        pairs: how many of these have a traced neighbour.
        untraced_ns: median duration of untraced steps.
        traced_ns: median over the means of their neighbours.
        added: median of how much longer the neighbours take, divided by the untraced time.
        added_cpu: the same for the CPU time of the loop's thread; None if it was not read.
        detailed: the part of all steps that was recorded, if `--budget` chose them at random; None if not.
    """

    steps: int
    pairs: int
    untraced_ns: int
    traced_ns: int
    added: Added
    added_cpu: Added | None
    detailed: float | None


@frozen
class Figures:
    """Statistics of one measure over the steps. Percentiles are by nearest rank.

    low, high: the 95 % interval of the median; None with fewer than six steps.
    """

    average: float
    median: float
    low: float | None
    high: float | None
    p95: float
    least: float
    most: float


@frozen
class Benchmark:
    """How long steps took while nothing was recorded except their times, without the steps left out.

    Attributes:
        left_out: number of first steps that do not count. warm_up: how many `--warmup` asked to leave out.
        batch_ns: time of whole steps; None without steps, as the next two.
        reader_ns: time in the loader's `next`; also None without a loader.
        ips: samples per second, or steps per second if not `has_samples`.
    """

    source: StepSource | None
    steps: int
    left_out: int
    warm_up: int
    evaluations: int
    evaluation_ns: int
    total_ns: int
    has_samples: bool
    samples: int | None
    reader_share: float | None
    batch_ns: Figures | None
    reader_ns: Figures | None
    ips: Figures | None
