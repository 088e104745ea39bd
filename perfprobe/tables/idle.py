"""When GPUs were idle, and what on the host kept them waiting. -1 means none."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings

SHORT_GAP_NS = 30_000  # `consecutive_kernel_delay` of HolisticTraceAnalysis, 30 of a trace's microseconds


class IdleKind(IntEnum):
    """Kinds of gaps by HolisticTraceAnalysis's definition (`breakdown_analysis.py`).

    A gap of a stream is the time between one kernel, copy or fill and the next.
    """

    HOST_WAIT = 0  # the next work was launched after the gap began
    KERNEL_WAIT = 1  # the next work was launched before, and the gap is shorter than SHORT_GAP_NS
    OTHER = 2


class IdleCause(IntEnum):
    """What the host did while a GPU was idle."""

    UNKNOWN = 0
    DATA = 1  # waiting for data, or making a batch
    COMPILE = 2
    COLLECTION = 3  # Python's garbage collection
    ALLOCATOR = 4  # cudaMalloc, cudaFree, cudaHostAlloc and the like
    SYNC = 5  # it waited for the GPU, so that nothing was queued, and could not run ahead for as long
    PAGEABLE_COPY = 6  # the same in a copy from or to pageable memory
    OPERATORS = 7  # the host's part of operators
    PYTHON = 8  # between operators
    LAUNCH = 9  # from the call until the kernel began, and in other calls of CUDA
    BETWEEN_KERNELS = 10  # a short gap before work that was queued


class IdleRows(Table):
    """Idle time of a device by cause and place, from its first to its last work. Most time first."""

    device: Int32 = column("the driver's number of the device")
    cause: Int8 = column("an `IdleCause`")
    call: Int32 = column("the function of CUDA's API that shows the cause", Strings)
    operator: Int32 = column("the outermost operator there, -1 outside of operators", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`: why there is no line")
    linked: Int8 = column("1 if the call that ended the gap was recorded")
    gaps: Int64 = column("number of gaps that contain some of it", combine=Combine.SUM)
    total_ns: Int64 = column("idle time", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest idle time in one gap", combine=Combine.MOST)
    steps_ns: Int64 = column("the part of total_ns in steady steps of the leading loop", combine=Combine.SUM)
    host_wait_ns: Int64 = column("the part of total_ns in gaps of kind HOST_WAIT", combine=Combine.SUM)
    kernel_wait_ns: Int64 = column("the part of total_ns in gaps of kind KERNEL_WAIT", combine=Combine.SUM)
    other_ns: Int64 = column("the part of total_ns in gaps of kind OTHER", combine=Combine.SUM)


class StreamIdle(Table):
    """Idle time of each stream between its first and its last work, by the kind of gap."""

    device: Int32 = column("the driver's number of the device")
    stream: Int32 = column("the driver's number of the stream")
    gaps: Int64 = column("number of gaps", combine=Combine.SUM)
    host_wait_ns: Int64 = column("idle time in gaps of kind HOST_WAIT", combine=Combine.SUM)
    kernel_wait_ns: Int64 = column("idle time in gaps of kind KERNEL_WAIT", combine=Combine.SUM)
    other_ns: Int64 = column("idle time in gaps of kind OTHER", combine=Combine.SUM)


class Overlaps(Table):
    """What ran at the same time on each device. Kernels that communicate: `models/communication.py`.

    idle_ns and the seven times in which something ran add up to the time from first to last work.
    """

    device: Int32 = column("the driver's number of the device")
    idle_ns: Int64 = column("time in which nothing ran", combine=Combine.SUM)
    computing_ns: Int64 = column("time of only kernels that compute", combine=Combine.SUM)
    communicating_ns: Int64 = column("time of only kernels that communicate", combine=Combine.SUM)
    copying_ns: Int64 = column("time of only copies and fills", combine=Combine.SUM)
    computing_communicating_ns: Int64 = column(
        "time of computing and communicating kernels, without copies", combine=Combine.SUM
    )
    computing_copying_ns: Int64 = column(
        "time of computing kernels and copies, without communication", combine=Combine.SUM
    )
    communicating_copying_ns: Int64 = column(
        "time of communicating kernels and copies, without computing", combine=Combine.SUM
    )
    all_ns: Int64 = column("time of all three", combine=Combine.SUM)


@frozen
class IdleTimes:
    """Idle time of GPUs, without work that has no times. steady: number of steps that `steps_ns` is of."""

    rows: IdleRows
    streams: StreamIdle
    overlaps: Overlaps
    steady: int
