"""When GPUs were idle, and what of the host kept them waiting. -1 is "none"."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings

SHORT_GAP_NS = 30_000  # of HolisticTraceAnalysis: `consecutive_kernel_delay`, 30 of a trace's microseconds


class IdleKind(IntEnum):
    """Kinds of gaps as HolisticTraceAnalysis has them (`breakdown_analysis.py`).

    The gap of a stream lies between one kernel, copy or fill and the next.
    """

    HOST_WAIT = 0  # the next one was launched after the gap began
    KERNEL_WAIT = 1  # it was launched before, and the gap is shorter than SHORT_GAP_NS
    OTHER = 2


class IdleCause(IntEnum):
    """What the host did while a GPU was idle."""

    UNKNOWN = 0
    DATA = 1  # waiting for data, or making a batch
    COMPILE = 2
    COLLECTION = 3  # Python's garbage collection
    ALLOCATOR = 4  # cudaMalloc, cudaFree, cudaHostAlloc and the like
    SYNC = 5  # it waited for the GPU, so that nothing was queued, and for as long could not run ahead
    PAGEABLE_COPY = 6  # the same in a copy from or to pageable memory
    OPERATORS = 7  # the host's part of operators
    PYTHON = 8  # between operators
    LAUNCH = 9  # from the call until the kernel began, and in other calls of CUDA
    BETWEEN_KERNELS = 10  # a short gap before work that was queued


class IdleRows(Table):
    """Idle time of a device by cause and place, from its first to its last work; most time first."""

    device: Int32 = column("the driver's number of the device")
    cause: Int8 = column("an `IdleCause`")
    call: Int32 = column("the function of CUDA's API that shows it", Strings)
    operator: Int32 = column("the outermost operator there, -1 outside of all", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`: why there is no line")
    linked: Int8 = column("1: the call that ended the gap was recorded")
    gaps: Int64 = column("how many gaps have some of it", combine=Combine.SUM)
    total_ns: Int64 = column("how long the device was idle", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest in one gap", combine=Combine.MOST)
    steps_ns: Int64 = column("the part of it in steady steps of the leading loop", combine=Combine.SUM)
    host_wait_ns: Int64 = column("the part in gaps of kind HOST_WAIT", combine=Combine.SUM)
    kernel_wait_ns: Int64 = column("the part in gaps of kind KERNEL_WAIT", combine=Combine.SUM)
    other_ns: Int64 = column("the part in gaps of kind OTHER", combine=Combine.SUM)


class StreamIdle(Table):
    """Idle time of each stream between its first and its last work, by the kind of gap."""

    device: Int32 = column("the driver's number of the device")
    stream: Int32 = column("the driver's number of the stream")
    gaps: Int64 = column("how many", combine=Combine.SUM)
    host_wait_ns: Int64 = column("idle in gaps of kind HOST_WAIT", combine=Combine.SUM)
    kernel_wait_ns: Int64 = column("idle in gaps of kind KERNEL_WAIT", combine=Combine.SUM)
    other_ns: Int64 = column("idle in gaps of kind OTHER", combine=Combine.SUM)


class Overlaps(Table):
    """What ran at the same time on each device. Kernels that communicate are NCCL's.

    With idle_ns the seven times in which something ran are all of the time from first to last work.
    """

    device: Int32 = column("the driver's number of the device")
    idle_ns: Int64 = column("nothing ran", combine=Combine.SUM)
    computing_ns: Int64 = column("only kernels that compute", combine=Combine.SUM)
    communicating_ns: Int64 = column("only kernels that communicate", combine=Combine.SUM)
    copying_ns: Int64 = column("only copies and fills", combine=Combine.SUM)
    computing_communicating_ns: Int64 = column("these two", combine=Combine.SUM)
    computing_copying_ns: Int64 = column("these two", combine=Combine.SUM)
    communicating_copying_ns: Int64 = column("these two", combine=Combine.SUM)
    all_ns: Int64 = column("all three", combine=Combine.SUM)


@frozen
class IdleTimes:
    """Idle time of GPUs. steady: how many steps `steps_ns` is of; work with no times is left out."""

    rows: IdleRows
    streams: StreamIdle
    overlaps: Overlaps
    steady: int
