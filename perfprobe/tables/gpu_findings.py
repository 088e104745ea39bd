"""What analyse finds out about GPUs, as the report shows it. -1 is "none", and "not timed" of a sum."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.gpu import Launches
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.steps import Steps
from perfprobe.tables.strings import Strings


class KernelRows(Table):
    """Kernels of one name under one operator, signature, line and phase, and their sums.

    What they have in common is as in `CallSites`. A CUDA graph stands for many operators: operator is -1, the
    line that of the launch.
    """

    name: Int32 = column("of the kernel", Strings)
    operator: Int32 = column("-1 outside of all", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`")
    module: Int32 = column("the nn.Module, -1 where they differ", Modules)
    is_graph: Int8 = column("1: launched by a CUDA graph")
    wrapper: Int8 = column("a `Wrapper`: of NCCL's, whose communication it is")
    linked: Int8 = column("1: the call that launched them was recorded")
    launch: Int32 = column("that of the longest one", Launches)
    device: Int32 = column("that of the longest one, by the driver's number")
    kernels: Int64 = column("how many", combine=Combine.SUM)
    untimed: Int64 = column("how many of them have no time", combine=Combine.SUM)
    total_ns: Int64 = column("time of those that have one", combine=Combine.SUM, optional=True)
    least_ns: Int64 = column("the shortest of those", combine=Combine.LEAST, optional=True)
    most_ns: Int64 = column("the longest of those", combine=Combine.MOST, optional=True)


class CopyRows(Table):
    """Copies of one direction, kind of memory and line."""

    kind: Int8 = column("a `CopyKind`")
    source: Int8 = column("a `MemoryKind`")
    destination: Int8 = column("a `MemoryKind`")
    is_async: Int8 = column("1, 0, or -1 not known")
    operator: Int32 = column("-1 outside of all", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`")
    linked: Int8 = column("1: the call that started them was recorded")
    copies: Int64 = column("how many", combine=Combine.SUM)
    size_bytes: Int64 = column("how much was copied", combine=Combine.SUM)
    untimed: Int64 = column("how many of them have no time", combine=Combine.SUM)
    total_ns: Int64 = column("time of those that have one", combine=Combine.SUM, optional=True)


class WaitRows(Table):
    """Waits of one kind from one line."""

    kind: Int8 = column("a `WaitKind`")
    call: Int32 = column("the name of the call that waited", Strings)
    operator: Int32 = column("-1 outside of all", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`")
    linked: Int8 = column("1: the call that waited was recorded")
    waits: Int64 = column("how many", combine=Combine.SUM)
    total_ns: Int64 = column("how long the calling thread waited", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest wait", combine=Combine.MOST)


class LaunchRows(Table):
    """Calls of the CUDA API by name: how many, and how long the program was in them.

    A driver's call within one of the runtime is a call of its own.
    """

    name: Int32 = column("what was called", Strings)
    calls: Int64 = column("how many", combine=Combine.SUM)
    failed: Int64 = column('how many returned an error; "not ready yet" is none', combine=Combine.SUM)
    total_ns: Int64 = column("how long together", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest", combine=Combine.MOST)


class StepCounts(Table):
    """What ran on GPUs for each step: what was launched in it."""

    step: Int32 = column("-1 outside of all, and if launched by a call that was not recorded", Steps)
    kernels: Int64 = column("how many", combine=Combine.SUM)
    kernel_ns: Int64 = column("their time", combine=Combine.SUM)
    copies: Int64 = column("how many, fills too", combine=Combine.SUM)
    copy_ns: Int64 = column("their time", combine=Combine.SUM)
    copied_bytes: Int64 = column("how much they copied", combine=Combine.SUM)
    waits: Int64 = column("how many", combine=Combine.SUM)
    wait_ns: Int64 = column("their time", combine=Combine.SUM)


class DeviceRows(Table):
    """What each device did, from first_ns to last_ns. Times in which something of a kind ran overlap."""

    device: Int32 = column("the driver's number")
    kernels: Int64 = column("how many", combine=Combine.SUM)
    kernel_ns: Int64 = column("their time", combine=Combine.SUM)
    copies: Int64 = column("how many, fills too", combine=Combine.SUM)
    copy_ns: Int64 = column("their time", combine=Combine.SUM)
    copied_bytes: Int64 = column("how much they copied", combine=Combine.SUM)
    streams: Int64 = column("how many different ones")
    busy_ns: Int64 = column("in which at least one kernel or copy ran", combine=Combine.SUM)
    first_ns: Int64 = column("when the first of them began", combine=Combine.LEAST, optional=True)
    last_ns: Int64 = column("when the last of them ended", combine=Combine.MOST, optional=True)
    computing_ns: Int64 = column("in which at least one kernel ran, NCCL's left out", combine=Combine.SUM)
    nccl_ns: Int64 = column(
        "in which one of NCCL's ran, also while it waited for other GPUs", combine=Combine.SUM
    )
    copying_ns: Int64 = column("in which at least one copy or fill ran", combine=Combine.SUM)


@frozen
class GpuFindings:
    """What the report shows of GPUs; rows of each table most time first. graph_launches: of CUDA graphs.

    steps: of the leading loop's thread, by time.

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
