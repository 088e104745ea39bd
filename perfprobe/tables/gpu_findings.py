"""What analyse finds about GPUs, as the report shows it. -1 means none, in a sum not timed."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.gpu import Launches, WaitKind
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.steps import Steps
from perfprobe.tables.strings import Strings


class KernelRows(Table):
    """Kernels with one name, operator, signature, line and phase, and their sums.

    Common facts are as in `CallSites`. A CUDA graph stands for many operators: `operator` is -1, and the line
    is that of the launch.
    """

    name: Int32 = column("name of the kernel", Strings)
    operator: Int32 = column("the operator that launched them, -1 outside of operators", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")
    module: Int32 = column("the nn.Module, -1 if they differ", Modules)
    is_graph: Int8 = column("1 if a CUDA graph launched them")
    wrapper: Int8 = column("for kernels of NCCL, a `Wrapper`: the origin of the communication")
    linked: Int8 = column("1 if the call that launched them was recorded")
    launch: Int32 = column("the launch of the longest kernel", Launches)
    device: Int32 = column("the device of the longest kernel, by the driver's number")
    kernels: Int64 = column("number of kernels", combine=Combine.SUM)
    untimed: Int64 = column("number of kernels without a time", combine=Combine.SUM)
    total_ns: Int64 = column("time of the others", combine=Combine.SUM, optional=True)
    least_ns: Int64 = column("the shortest of the others", combine=Combine.LEAST, optional=True)
    most_ns: Int64 = column("the longest of the others", combine=Combine.MOST, optional=True)


class CopyRows(Table):
    """Copies with one direction, kind of memory, operator, line and phase."""

    kind: Int8 = column("a `CopyKind`")
    source: Int8 = column("a `MemoryKind`")
    destination: Int8 = column("a `MemoryKind`")
    is_async: Int8 = column("1 or 0, -1 if not known")
    operator: Int32 = column("the operator that started them, -1 outside of operators", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")
    linked: Int8 = column("1 if the call that started them was recorded")
    copies: Int64 = column("number of copies", combine=Combine.SUM)
    size_bytes: Int64 = column("how much was copied", combine=Combine.SUM)
    image_bytes: Int64 = column("of these, to GPUs by operators on images of floats", combine=Combine.SUM)
    untimed: Int64 = column("number of copies without a time", combine=Combine.SUM)
    total_ns: Int64 = column("time of the others", combine=Combine.SUM, optional=True)


class WaitRows(Table):
    """Waits of one kind, call, operator, line and phase."""

    kind: Int8 = column("a `WaitKind`")
    call: Int32 = column("the name of the call that waited", Strings)
    operator: Int32 = column("the operator that waited, -1 outside of operators", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")
    linked: Int8 = column("1 if the call that waited was recorded")
    waits: Int64 = column("number of waits", combine=Combine.SUM)
    total_ns: Int64 = column("how long the calling thread waited", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest wait", combine=Combine.MOST)


class LaunchRows(Table):
    """Calls of the CUDA API by name: their number and their time.

    A driver's call within a runtime call is a separate call.
    """

    name: Int32 = column("name of the function", Strings)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    failed: Int64 = column(
        "number of calls that returned an error; cudaErrorNotReady is none", combine=Combine.SUM
    )
    total_ns: Int64 = column("time of all calls", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest call", combine=Combine.MOST)


class StepCounts(Table):
    """What ran on GPUs for each step: the work that was launched in it."""

    step: Int32 = column("the step, -1 outside of steps, and if the call was not recorded", Steps)
    kernels: Int64 = column("number of kernels", combine=Combine.SUM)
    kernel_ns: Int64 = column("time of the kernels", combine=Combine.SUM)
    copies: Int64 = column("number of copies and fills", combine=Combine.SUM)
    copy_ns: Int64 = column("time of the copies", combine=Combine.SUM)
    copied_bytes: Int64 = column("bytes that were copied", combine=Combine.SUM)
    waits: Int64 = column("number of waits", combine=Combine.SUM)
    wait_ns: Int64 = column("time of the waits", combine=Combine.SUM)


class DeviceRows(Table):
    """What each device did, from first_ns to last_ns. Times of different kinds of work overlap."""

    device: Int32 = column("the driver's number")
    kernels: Int64 = column("number of kernels", combine=Combine.SUM)
    kernel_ns: Int64 = column("sum of the times of kernels", combine=Combine.SUM)
    copies: Int64 = column("number of copies and fills", combine=Combine.SUM)
    copy_ns: Int64 = column("sum of the times of copies", combine=Combine.SUM)
    copied_bytes: Int64 = column("bytes that were copied", combine=Combine.SUM)
    streams: Int64 = column("number of streams")
    busy_ns: Int64 = column("time in which at least one kernel or copy ran", combine=Combine.SUM)
    first_ns: Int64 = column("when the first work began", combine=Combine.LEAST, optional=True)
    last_ns: Int64 = column("when the last work ended", combine=Combine.MOST, optional=True)
    computing_ns: Int64 = column(
        "time in which at least one kernel ran, without those that communicate", combine=Combine.SUM
    )
    communication_ns: Int64 = column(
        "time in which a kernel that communicates ran, including its waiting for other GPUs",
        combine=Combine.SUM,
    )
    copying_ns: Int64 = column("time in which at least one copy or fill ran", combine=Combine.SUM)


@frozen
class GpuFindings:
    """What the report shows of GPUs. The rows of each table are sorted, most time first.

    Attributes:
        steps: of the leading loop's thread, by time.
        graph_launches: number of launches of CUDA graphs.
        unlinked: number of kernels and copies whose call was not recorded.
        outside: number of those whose call was outside of operators, without CUDA graphs.
        untimed: number of those without times from the driver.
        exact, disagreements: as in `GpuLinks`.
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

    @property
    def program_waited_ns(self) -> int:
        """How long threads of the program waited. A stream that waits for an event blocks no thread."""
        own = (self.waits.kind != WaitKind.STREAM_WAIT_EVENT) & (self.waits.total_ns >= 0)
        return int(self.waits.total_ns[own].sum())
