"""What ran on GPUs and what the program asked of them, as recorded. Times: CLOCK_MONOTONIC, -1 not timed.

Row ids of other tables, and all numbers that the driver gave (device, context, stream, correlation), are -1
where there is none. `correlation` is the one number that a call and what it started have in common.
"""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Int8, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings


class CopyKind(IntEnum):
    """From where to where: CUpti_ActivityMemcpyKind in cupti_activity.h; FILL is ours, for a memset."""

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
    """From where to where a copy of this kind goes, in words."""
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

    PAGEABLE_COPY is ours, and never recorded: a copy from or to pageable memory blocks its caller.
    """

    UNKNOWN = 0
    EVENT = 1
    STREAM_WAIT_EVENT = 2
    STREAM = 3
    CONTEXT = 4
    PAGEABLE_COPY = 100


class OverheadKind(IntEnum):
    """What CUPTI and the driver took for themselves: CUpti_ActivityOverheadKind in cupti_activity.h."""

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
    """How kernels were launched, each way once: sizes of grid and block, and what a block takes."""

    grid_x: Int32 = column("blocks of the grid")
    grid_y: Int32 = column("blocks of the grid")
    grid_z: Int32 = column("blocks of the grid")
    block_x: Int32 = column("threads of a block")
    block_y: Int32 = column("threads of a block")
    block_z: Int32 = column("threads of a block")
    registers: Int32 = column("of each thread")
    static_shared_bytes: Int32 = column("shared memory of a block that the kernel declares")
    dynamic_shared_bytes: Int32 = column("shared memory of a block that the launch asks for")
    local_bytes: Int32 = column("local memory of each thread")


class KinetoLaunches(Table, name="kineto_launches"):
    """What Kineto says of launches beyond `launches`, row for row; empty where perfprobe's own CUPTI
    recorded.
    """

    shared_bytes: Int32 = column("shared memory of a block, declared and asked for", optional=True)
    occupancy_percent: Int32 = column(
        "its estimate of the achieved occupancy, rounded", unit="percent", optional=True
    )


class Kernels(Table, name="kernels", most_rows=MOST_EVENTS):
    """Kernels that ran. Hardware metrics of single kernels would be one more table, by row of this one."""

    start_ns: Int64 = column("when it began, -1 not timed")
    end_ns: Int64 = column("when it ended, -1 not timed")
    device: Int32 = column("the driver's number of the device")
    context: Int32 = column("the driver's number of the context")
    stream: Int32 = column("the driver's number of the stream")
    name: Int32 = column("its name, demangled", Strings)
    launch: Int32 = column("how it was launched", Launches)
    correlation: Int64 = column("number that it shares with the call that launched it")
    graph: Int64 = column("of a kernel that a CUDA graph launched, the graph")
    graph_node: Int64 = column("its node in that graph")


class Copies(Table, name="copies", most_rows=MOST_EVENTS):
    """Copies and fills."""

    start_ns: Int64 = column("when it began, -1 not timed")
    end_ns: Int64 = column("when it ended, -1 not timed")
    device: Int32 = column("the driver's number of the device")
    context: Int32 = column("the driver's number of the context")
    stream: Int32 = column("the driver's number of the stream")
    kind: Int8 = column("a `CopyKind`")
    source: Int8 = column("a `MemoryKind`")
    destination: Int8 = column("a `MemoryKind`")
    is_async: Int8 = column("1, 0, or -1 not known")
    size_bytes: Int64 = column("how much was copied or filled")
    peer_device: Int32 = column("the other device of a copy between two")
    correlation: Int64 = column("number that it shares with the call that started it")
    graph: Int64 = column("of a copy that a CUDA graph started, the graph")
    graph_node: Int64 = column("its node in that graph")


class ApiCalls(Table, name="api_calls", most_rows=MOST_EVENTS):
    """Calls of the CUDA runtime and driver."""

    start_ns: Int64 = column("when it began, -1 not timed")
    end_ns: Int64 = column("when it ended, -1 not timed")
    thread: Int32 = column("where it was made", Threads)
    name: Int32 = column("what was called, `cudaLaunchKernel`", Strings)
    correlation: Int64 = column("number that it shares with what it started")
    result: Int32 = column("what it returned, 0 is success")
    stack: Int32 = column("of calls outside of operators whose Python stack was read", Stacks)


class GpuWaits(Table, name="gpu_waits", most_rows=MOST_EVENTS):
    """Times in which the program, or a stream, waited for a GPU."""

    start_ns: Int64 = column("when it began, -1 not timed")
    end_ns: Int64 = column("when it ended, -1 not timed")
    kind: Int8 = column("a `WaitKind`")
    context: Int32 = column("the driver's number of the context")
    stream: Int32 = column("the driver's number of the stream")
    correlation: Int64 = column("number that it shares with the call that waited")


class GpuOverheads(Table, name="gpu_overheads", most_rows=MOST_EVENTS):
    """Time that CUPTI or the driver took for itself."""

    start_ns: Int64 = column("when it began, -1 not timed")
    end_ns: Int64 = column("when it ended, -1 not timed")
    kind: Int32 = column("an `OverheadKind`")


class ExternalIds(Table, name="external_ids", most_rows=MOST_EVENTS):
    """In exact linking: the operator in which a call was made."""

    correlation: Int64 = column("that of the call")
    start_ns: Int64 = column("when the operator began, which tells which it is")


GPU_EVENTS: tuple[type[Table], ...] = (Kernels, Copies, ApiCalls, GpuWaits, GpuOverheads)


class CallSites(Table):
    """Where each call of the CUDA API came from; row = row of `ApiCalls`.

    What it says of an operator is that of the innermost one it was made in, ranges left out, as in
    LinkedOperators. name is -1 outside of all operators: then frame and stack come from the call's own stack
    where that was read, from the range `cuda::...` that the collector set around it, or from a look of the
    sampler at the call.
    """

    start_ns: Int64 = column("when that operator began")
    name: Int32 = column("its name", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    scope: Int8 = column("its scope")
    stack: Int32 = column("the Python that called it", Stacks)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    forward_stack: Int32 = column("in backward, the stack of the forward call", Stacks)
    module: Int32 = column("the nn.Module", Modules)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`")


@frozen
class GpuLinks:
    """Which call started what; -1 where its record is missing.

    kernel_call, copy_call, wait_call: row of `api_calls` for each row of `kernels`, `copies` and `waits`.
    Where several calls have the correlation of a record, the runtime's is it, not the driver's within it.
    sites: one row for each call. graph_launch: which calls launched a CUDA graph. exact: how many calls had
    their operator named by an external id; disagreements: how many of these lie elsewhere by time.
    """

    kernel_call: Int32
    copy_call: Int32
    wait_call: Int32
    sites: CallSites
    graph_launch: Mask
    exact: int
    disagreements: int
