"""How kernels, copies and fills were launched, and how many waited in queues. -1 means none.

The limits are those of HolisticTraceAnalysis (`cuda_kernel_launch_stats`, `trace_counters.py`).
"""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings

LONG_CALL_NS = 50_000  # `runtime_cutoff`
LONG_DELAY_NS = 100_000  # `launch_delay_cutoff`
FEWEST_BOUND = 5  # launches in a row that make a launch-bound stretch
FULL_QUEUE = 1024  # launches; from this number on CUDA makes the program wait


class LaunchedRows(Table):
    """Launches from one operator and line, most time in the calls first.

    A launch of a CUDA graph is one launch, and all that it started is one piece of work.
    """

    operator: Int32 = column("the operator that launched, -1 outside of operators", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")
    linked: Int8 = column("always 1")
    launches: Int64 = column("number of launches", combine=Combine.SUM)
    short: Int64 = column(
        "number of launches of at most LONG_CALL_NS that took longer than their work",
        combine=Combine.SUM,
    )
    total_ns: Int64 = column("time in the calls", combine=Combine.SUM)
    gpu_ns: Int64 = column("time of their work", combine=Combine.SUM)
    delay_ns: Int64 = column(
        "time from the end of the call to the start of its work, 0 if that was before", combine=Combine.SUM
    )
    longest_delay_ns: Int64 = column("the longest delay", combine=Combine.MOST)


class StreamLaunches(Table):
    """Launches to each stream, most launches first. Percentiles are by nearest rank."""

    device: Int32 = column("the driver's number of the device")
    stream: Int32 = column("the driver's number of the stream")
    launches: Int64 = column("number of launches", combine=Combine.SUM)
    short: Int64 = column("as in `LaunchedRows`", combine=Combine.SUM)
    long_calls: Int64 = column("number of calls of more than LONG_CALL_NS", combine=Combine.SUM)
    delayed: Int64 = column("number of delays of more than LONG_DELAY_NS", combine=Combine.SUM)
    call_ns: Int64 = column("median duration of the calls")
    delay_ns: Int64 = column("median of the delays")
    p95_delay_ns: Int64 = column("95th percentile of the delays")
    span_ns: Int64 = column("time from the first launch to the start of the last work", combine=Combine.SUM)
    queued_ns: Int64 = column(
        "sum over all launches of the time from the start of the call to the start of its work; divided by "
        "span_ns it is the mean length of the queue",
        combine=Combine.SUM,
    )
    empty_ns: Int64 = column("the part of span_ns in which nothing was queued", combine=Combine.SUM)
    full_ns: Int64 = column("the part of span_ns with FULL_QUEUE or more in the queue", combine=Combine.SUM)
    most: Int64 = column("the greatest length of the queue", combine=Combine.MOST)
    stretches: Int64 = column(
        "number of launch-bound stretches: at least FEWEST_BOUND launches in a row, each after the end "
        "of the work before it",
        combine=Combine.SUM,
    )
    bound_ns: Int64 = column(
        "time of these: from the end of the work before the first to the end of their last",
        combine=Combine.SUM,
    )
    most_bound: Int64 = column("number of launches of the longest one", combine=Combine.MOST)


class QueueLengths(Table):
    """The queue of each stream over time, whose span is divided into equal parts."""

    device: Int32 = column("the driver's number of the device")
    stream: Int32 = column("the driver's number of the stream")
    start_ns: Int64 = column("when the part begins")
    end_ns: Int64 = column("when it ends")
    launches: Int64 = column("number of calls that began in the part", combine=Combine.SUM)
    queued_ns: Int64 = column("as in `StreamLaunches`, for this part", combine=Combine.SUM)
    most: Int64 = column("the greatest length of the queue in the part", combine=Combine.MOST)


@frozen
class LaunchTimes:
    """Statistics of launches, without work whose call was not recorded or that has no times."""

    rows: LaunchedRows
    streams: StreamLaunches
    queues: QueueLengths
