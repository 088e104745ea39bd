"""What ran on GPUs and what the program asked of them, as recorded. Times: CLOCK_MONOTONIC, -1 not timed.

Row ids of other tables, and all numbers that the driver gave (device, context, stream, correlation), are -1
where there is none. `correlation` is the one number that a call and what it started have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table


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

    PAGEABLE_COPY is ours, and never recorded: a copy from or to pageable memory keeps its caller.
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


@dataclass(frozen=True)
class Launches(Table):
    """How kernels were launched, each way once: sizes of grid and block, and what a block takes.

    registers, local_bytes: of each thread.
    """

    grid_x: Int32
    grid_y: Int32
    grid_z: Int32
    block_x: Int32
    block_y: Int32
    block_z: Int32
    registers: Int32
    static_shared_bytes: Int32
    dynamic_shared_bytes: Int32
    local_bytes: Int32


@dataclass(frozen=True)
class Kernels(Table):
    """Kernels that ran. name: string id, demangled; launch: row of `Launches`.

    graph: of a kernel that a CUDA graph launched, the graph; graph_node: its node in it. Hardware metrics of
    single kernels would be one more table, by row of this one.
    """

    start_ns: Int64
    end_ns: Int64
    device: Int32
    context: Int32
    stream: Int32
    name: Int32
    launch: Int32
    correlation: Int64
    graph: Int64
    graph_node: Int64


@dataclass(frozen=True)
class Copies(Table):
    """Copies and fills. kind: `CopyKind`; source, destination: `MemoryKind`; is_async: 1, 0 or -1 not known.

    peer_device: the other one of a copy between two, else -1.
    """

    start_ns: Int64
    end_ns: Int64
    device: Int32
    context: Int32
    stream: Int32
    kind: Int8
    source: Int8
    destination: Int8
    is_async: Int8
    size_bytes: Int64
    peer_device: Int32
    correlation: Int64
    graph: Int64
    graph_node: Int64


@dataclass(frozen=True)
class ApiCalls(Table):
    """Calls of the CUDA runtime and driver. thread: row of `threads`; name: string id, `cudaLaunchKernel`.

    result: what it returned, 0 is success. stack: row of `stacks`, of calls that were made outside of
    operators and whose Python stack was read.
    """

    start_ns: Int64
    end_ns: Int64
    thread: Int32
    name: Int32
    correlation: Int64
    result: Int32
    stack: Int32


@dataclass(frozen=True)
class GpuWaits(Table):
    """Times in which the program, or a stream, waited for a GPU. kind: `WaitKind`."""

    start_ns: Int64
    end_ns: Int64
    kind: Int8
    context: Int32
    stream: Int32
    correlation: Int64


@dataclass(frozen=True)
class GpuOverheads(Table):
    """Time that CUPTI or the driver took for itself. kind: `OverheadKind`."""

    start_ns: Int64
    end_ns: Int64
    kind: Int32


@dataclass(frozen=True)
class ExternalIds(Table):
    """In exact linking: the operator in which a call was made, known by when it started."""

    correlation: Int64
    start_ns: Int64


@dataclass(frozen=True)
class CallSites(Table):
    """Where each call of the CUDA API came from; row = row of `ApiCalls`.

    name, overload, signature, scope, frame, forward_frame, forward_stack, module, phase, gap, stack: as in
    LinkedOperators, of the innermost operator it was made in, ranges left out. name is -1 outside of all
    operators: then frame and stack come from the call's own stack where that was read, from the range
    `cuda::...` that the collector set around it, or from a look of the sampler at the call. start_ns: when
    that operator started, -1 none.
    """

    start_ns: Int64
    name: Int32
    overload: Int32
    signature: Int32
    scope: Int8
    stack: Int32
    frame: Int32
    forward_frame: Int32
    forward_stack: Int32
    module: Int32
    phase: Int8
    gap: Int8


@dataclass(frozen=True)
class GpuActivity:
    """All that was recorded of GPUs."""

    launches: Launches
    kernels: Kernels
    copies: Copies
    api_calls: ApiCalls
    waits: GpuWaits
    overheads: GpuOverheads
    external_ids: ExternalIds

    @classmethod
    def empty(cls) -> GpuActivity:
        """Nothing was recorded."""
        return cls(
            launches=Launches.empty(),
            kernels=Kernels.empty(),
            copies=Copies.empty(),
            api_calls=ApiCalls.empty(),
            waits=GpuWaits.empty(),
            overheads=GpuOverheads.empty(),
            external_ids=ExternalIds.empty(),
        )

    def __len__(self) -> int:
        """Rows of all tables but those that only describe others."""
        tables = (self.kernels, self.copies, self.api_calls, self.waits, self.overheads)
        return sum(map(len, tables))


@dataclass(frozen=True)
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
