"""What analyse finds out about GPUs, as the report shows it. -1 is "none", and "not timed" of a sum."""

from __future__ import annotations

from dataclasses import dataclass

from perfprobe.tables.columns import Int8, Int32, Int64, Table


@dataclass(frozen=True)
class Steps(Table):
    """Training steps, each to the end of an optimizer's step, from that of the one before."""

    start_ns: Int64
    end_ns: Int64


@dataclass(frozen=True)
class KernelRows(Table):
    """Kernels of one name under one operator, signature, line and phase, and their sums.

    name: of the kernel; operator, overload, signature, frame, forward_frame, phase, gap, module: as in
    `CallSites`, operator -1 outside of all, module -1 where they differ. is_graph: launched by a CUDA graph,
    which stands for many operators: operator is -1, the line that of the launch. linked: whether the call
    that launched them was recorded. launch: that of the longest one. untimed: how many had no times; total,
    least and most are of the others, -1 where there are none.
    """

    name: Int32
    operator: Int32
    overload: Int32
    signature: Int32
    frame: Int32
    forward_frame: Int32
    phase: Int8
    gap: Int8
    module: Int32
    is_graph: Int8
    linked: Int8
    launch: Int32
    kernels: Int64
    untimed: Int64
    total_ns: Int64
    least_ns: Int64
    most_ns: Int64


@dataclass(frozen=True)
class CopyRows(Table):
    """Copies of one direction, kind of memory and line. total_ns: -1 where none was timed."""

    kind: Int8
    source: Int8
    destination: Int8
    is_async: Int8
    operator: Int32
    frame: Int32
    forward_frame: Int32
    phase: Int8
    gap: Int8
    linked: Int8
    copies: Int64
    size_bytes: Int64
    untimed: Int64
    total_ns: Int64


@dataclass(frozen=True)
class WaitRows(Table):
    """Waits of one kind from one line. total_ns: how long the calling thread waited. call: string id."""

    kind: Int8
    call: Int32
    operator: Int32
    frame: Int32
    forward_frame: Int32
    phase: Int8
    gap: Int8
    linked: Int8
    waits: Int64
    total_ns: Int64
    longest_ns: Int64


@dataclass(frozen=True)
class LaunchRows(Table):
    """Calls of the CUDA API by name: how many, and how long the program was in them.

    failed: how many returned an error; "not ready yet" is none. A driver's call within one of the runtime
    is a call of its own.
    """

    name: Int32
    calls: Int64
    failed: Int64
    total_ns: Int64
    longest_ns: Int64


@dataclass(frozen=True)
class StepCounts(Table):
    """What ran on GPUs for each step: what was launched in it.

    step: row of `Steps`; -1 outside of all, and for what was launched by a call that was not recorded.
    """

    step: Int32
    kernels: Int64
    kernel_ns: Int64
    copies: Int64
    copy_ns: Int64
    copied_bytes: Int64
    waits: Int64
    wait_ns: Int64


@dataclass(frozen=True)
class DeviceRows(Table):
    """What each device did, from first_ns to last_ns. busy_ns: in which at least one kernel or copy ran.

    computing_ns: in which at least one kernel ran, NCCL's left out; nccl_ns: one of NCCL's, which run also
    while they wait for other GPUs; copying_ns: at least one copy or fill. They overlap.
    """

    device: Int32
    kernels: Int64
    kernel_ns: Int64
    copies: Int64
    copy_ns: Int64
    copied_bytes: Int64
    streams: Int64
    busy_ns: Int64
    first_ns: Int64
    last_ns: Int64
    computing_ns: Int64
    nccl_ns: Int64
    copying_ns: Int64


@dataclass(frozen=True)
class GpuFindings:
    """What the report shows of GPUs; rows of each table most time first. graph_launches: of CUDA graphs.

    unlinked: kernels and copies whose call was not recorded. outside: those whose call was made outside of
    all operators, CUDA graphs left out. untimed: those that the driver gave no times. exact, disagreements:
    as in `GpuLinks`.
    """

    kernels: KernelRows
    copies: CopyRows
    waits: WaitRows
    calls: LaunchRows
    devices: DeviceRows
    steps: Steps
    step_counts: StepCounts
    graph_launches: int
    unlinked: int
    outside: int
    untimed: int
    exact: int
    disagreements: int
