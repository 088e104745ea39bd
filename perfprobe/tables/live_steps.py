"""Steps as they were found while the program ran, and what a benchmark makes of them."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.steps import StepSource


class LiveSteps(Table, name="live_steps", most_rows=MOST_EVENTS):
    """A step, or an evaluation between steps, found by the ranges that torch sets, without operators.

    A step reaches from the loader's `next` to that of the next step; with no loader, from one optimizer's end
    to the next.
    """

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    thread: Int32 = column("where it ran", Threads)
    number: Int32 = column("of the step, from 0 by source; -1 of an evaluation")
    source: Int8 = column("a `StepSource`; the lowest of a recording counts")
    is_evaluation: Int8 = column("1 where batches came that no optimizer's step followed")
    reader_ns: Int64 = column("of it in the loader's `next`", optional=True)
    batches: Int32 = column("how many batches came, -1 not known")
    samples: Int64 = column(
        "the first dimension of its batches together, where all their tensors agree on it", optional=True
    )
    is_recorded: Int8 = column("1 where operators were recorded in it")


@frozen
class Figures:
    """Of one measure over the steps; percentiles by nearest rank."""

    average: float
    median: float
    p95: float
    least: float
    most: float


@frozen
class Benchmark:
    """What steps took when nothing was recorded but their ends; of steps that were not left out.

    batch_ns: of whole steps; reader_ns: of it in the loader's `next`, None without a loader; ips: samples a
    second, or steps a second where `has_samples` is false; all figures None without a step.
    """

    source: StepSource | None
    steps: int
    left_out: int
    evaluations: int
    evaluation_ns: int
    total_ns: int
    has_samples: bool
    samples: int | None
    reader_share: float | None
    batch_ns: Figures | None
    reader_ns: Figures | None
    ips: Figures | None
