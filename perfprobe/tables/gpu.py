"""What ran on GPUs and which calls the program made, as recorded. Times: CLOCK_MONOTONIC, -1 if not timed.

Ids of rows and all numbers from the driver (device, context, stream, correlation) are -1 if there is none.
`correlation` is the number that a call and the work it started share.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings

MOST_DEVICES = 256  # findings are made device by device


class CopyKind(IntEnum):
    """Source and destination: CUpti_ActivityMemcpyKind of cupti_activity.h. FILL is our own, for a memset."""

    UNKNOWN = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    HOST_TO_ARRAY = 3
    ARRAY_TO_HOST = 4
    ARRAY_TO_ARRAY = 5
    ARRAY_TO_DEVICE = 6
    DEVICE_TO_ARRAY = 7
    DEVICE_TO_DEVICE = 8
    HOST_TO_HOST = 9
    PEER_TO_PEER = 10
    FILL = 100


_DIRECTIONS: dict[int, str] = {
    **dict.fromkeys((CopyKind.HOST_TO_DEVICE, CopyKind.HOST_TO_ARRAY), "to GPU"),
    **dict.fromkeys((CopyKind.DEVICE_TO_HOST, CopyKind.ARRAY_TO_HOST), "from GPU"),
    **dict.fromkeys((CopyKind.DEVICE_TO_DEVICE, CopyKind.ARRAY_TO_ARRAY), "on GPU"),
    **dict.fromkeys((CopyKind.ARRAY_TO_DEVICE, CopyKind.DEVICE_TO_ARRAY), "on GPU"),
    CopyKind.PEER_TO_PEER: "GPU to GPU",
    CopyKind.HOST_TO_HOST: "on host",
    CopyKind.FILL: "fill",
}


def direction(kind: int) -> str:
    """Returns source and destination of a kind of copies, in words."""
    return _DIRECTIONS.get(kind, "unknown")


class MemoryKind(IntEnum):
    """CUpti_ActivityMemoryKind in cupti_activity.h."""

    UNKNOWN = 0
    PAGEABLE = 1
    PINNED = 2
    DEVICE = 3
    ARRAY = 4
    MANAGED = 5
    DEVICE_STATIC = 6
    MANAGED_STATIC = 7


class WaitKind(IntEnum):
    """What was waited for: CUpti_ActivitySynchronizationType in cupti_activity.h.

    PAGEABLE_COPY is perfprobe's and never recorded: a copy from or to pageable memory blocks its caller.
    """

    UNKNOWN = 0
    EVENT = 1
    STREAM_WAIT_EVENT = 2
    STREAM = 3
    CONTEXT = 4
    PAGEABLE_COPY = 100


class OverheadKind(IntEnum):
    """What CUPTI and the driver spent time on: CUpti_ActivityOverheadKind in cupti_activity.h."""

    UNKNOWN = 0
    DRIVER_COMPILER = 1
    BUFFER_FLUSH = 1 << 16
    INSTRUMENTATION = 2 << 16
    RESOURCE = 3 << 16
    RUNTIME_TRIGGERED_MODULE_LOADING = 4 << 16
    LAZY_FUNCTION_LOADING = 5 << 16
    COMMAND_BUFFER_FULL = 6 << 16
    ACTIVITY_BUFFER_REQUEST = 7 << 16
    UVM_ACTIVITY_INIT = 8 << 16


class Launches(Table, name="launches"):
    """The different ways in which kernels were launched: sizes of grid and block, and resources."""

    grid_x: Int32 = column("blocks of the grid in x")
    grid_y: Int32 = column("blocks of the grid in y")
    grid_z: Int32 = column("blocks of the grid in z")
    block_x: Int32 = column("threads of a block in x")
    block_y: Int32 = column("threads of a block in y")
    block_z: Int32 = column("threads of a block in z")
    registers: Int32 = column("registers of each thread")
    static_shared_bytes: Int32 = column("shared memory of a block that the kernel declares")
    dynamic_shared_bytes: Int32 = column("shared memory of a block that the launch requests")
    local_bytes: Int32 = column("local memory of each thread")


class KinetoLaunches(Table, name="kineto_launches"):
    """What Kineto also reports of launches, row for row of `launches`. Empty if CUPTI was used directly."""

    shared_bytes: Int32 = column("shared memory of a block, declared and requested", optional=True)
    occupancy_percent: Int32 = column(
        "Kineto's estimate of the achieved occupancy, rounded", unit="percent", optional=True
    )
    blocks_per_sm_millionths: Int64 = column(
        "blocks of the grid divided by the device's multiprocessors, in millionths", optional=True
    )


class Kernels(Table, name="kernels", most_rows=MOST_EVENTS):
    """Kernels that ran. Hardware metrics of single kernels would be another table, by row of this one."""

    start_ns: Int64 = column("when it began, -1 if not timed")
    end_ns: Int64 = column("when it ended, -1 if not timed")
    device: Int32 = column("the driver's number of the device")
    context: Int32 = column("the driver's number of the context")
    stream: Int32 = column("the driver's number of the stream")
    name: Int32 = column("its name, demangled", Strings)
    launch: Int32 = column("how it was launched", Launches)
    correlation: Int64 = column("the number of the call that launched it")
    graph: Int64 = column("the CUDA graph that launched it")
    graph_node: Int64 = column("its node in that graph")


class Copies(Table, name="copies", most_rows=MOST_EVENTS):
    """Copies and fills."""

    start_ns: Int64 = column("when it began, -1 if not timed")
    end_ns: Int64 = column("when it ended, -1 if not timed")
    device: Int32 = column("the driver's number of the device")
    context: Int32 = column("the driver's number of the context")
    stream: Int32 = column("the driver's number of the stream")
    kind: Int8 = column("a `CopyKind`")
    source: Int8 = column("a `MemoryKind`")
    destination: Int8 = column("a `MemoryKind`")
    is_async: Int8 = column("1 or 0, -1 if not known")
    size_bytes: Int64 = column("how much was copied or filled")
    peer_device: Int32 = column("the other device of a copy between two")
    correlation: Int64 = column("the number of the call that started it")
    graph: Int64 = column("the CUDA graph that started it")
    graph_node: Int64 = column("its node in that graph")


class ApiCalls(Table, name="api_calls", most_rows=MOST_EVENTS):
    """Calls of the CUDA runtime and driver."""

    start_ns: Int64 = column("when it began, -1 if not timed")
    end_ns: Int64 = column("when it ended, -1 if not timed")
    thread: Int32 = column("the thread that called", Threads)
    name: Int32 = column("name of the function, such as `cudaLaunchKernel`", Strings)
    correlation: Int64 = column("its number, which the work it started has too")
    result: Int32 = column("what it returned, 0 is success")
    stack: Int32 = column("the Python stack, of calls outside of operators for which it was read", Stacks)


class GpuWaits(Table, name="gpu_waits", most_rows=MOST_EVENTS):
    """Times in which the program or a stream waited for a GPU."""

    start_ns: Int64 = column("when it began, -1 if not timed")
    end_ns: Int64 = column("when it ended, -1 if not timed")
    kind: Int8 = column("a `WaitKind`")
    context: Int32 = column("the driver's number of the context")
    stream: Int32 = column("the driver's number of the stream")
    correlation: Int64 = column("the number of the call that waited")


class GpuOverheads(Table, name="gpu_overheads", most_rows=MOST_EVENTS):
    """Time that CUPTI or the driver spent on their own work."""

    start_ns: Int64 = column("when it began, -1 if not timed")
    end_ns: Int64 = column("when it ended, -1 if not timed")
    kind: Int32 = column("an `OverheadKind`")


class ExternalIds(Table, name="external_ids", most_rows=MOST_EVENTS):
    """With exact linking: the operator in which a call was made."""

    correlation: Int64 = column("the number of the call")
    start_ns: Int64 = column("when the operator began, which identifies it")


GPU_EVENTS: tuple[type[Table], ...] = (Kernels, Copies, ApiCalls, GpuWaits, GpuOverheads)


class CallSites(Table):
    """Where each call of the CUDA API came from. A row belongs to the same row of `ApiCalls`.

    The facts are those of the innermost operator around the call, as in LinkedOperators; ranges do not count.
    Outside of operators `name` is -1, and frame and stack come from the call's own stack if it was read, from
    the range `cuda::...` that the collector set around it, or from a sample of the call.
    """

    start_ns: Int64 = column("when the operator began")
    name: Int32 = column("its name", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    scope: Int8 = column("its scope")
    stack: Int32 = column("the Python stack that called it", Stacks)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    forward_stack: Int32 = column("in backward, the stack of the forward call", Stacks)
    module: Int32 = column("the nn.Module", Modules)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")


@frozen
class Captured:
    """Which call was captured as the work of a CUDA graph: row of `api_calls`, -1 if not known.

    several_kernels, several_copies: whether it is one of several calls that differ in inputs or modules.
    """

    kernels: Int32
    copies: Int32
    several_kernels: Mask
    several_copies: Mask

    @classmethod
    def none(cls, kernels: int, copies: int) -> Captured:
        """No call for any."""
        return cls(
            kernels=np.full(kernels, -1, np.int32),
            copies=np.full(copies, -1, np.int32),
            several_kernels=np.zeros(kernels, np.bool_),
            several_copies=np.zeros(copies, np.bool_),
        )


@frozen
class GpuLinks:
    """Which call started what; -1 if the call's record is missing.

    If several calls have the correlation of a record, the runtime's call counts, not the driver's within it.

    Attributes:
        kernel_call, copy_call, wait_call: row of `api_calls` for each row of `kernels`, `copies` and `waits`.
        sites: one row for each call.
        graph_launch: a mask of the calls that launched a CUDA graph.
        captured: of work of graphs the call in the graph's capture.
        exact: number of calls with an external id of their operator.
        disagreements: number of these whose operator would differ by time.
    """

    kernel_call: Int32
    copy_call: Int32
    wait_call: Int32
    sites: CallSites
    graph_launch: Mask
    captured: Captured
    exact: int
    disagreements: int
