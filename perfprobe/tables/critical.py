"""The critical path: the longest chain of work that had to wait for one another. -1 is "none"."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


class Bound(IntEnum):
    """What a stretch of the path is limited by.

    As HolisticTraceAnalysis has them (`critical_path_analysis.py`, `bound_by`), except that copies are apart
    from kernels that compute, and that it has no time between operators: PYTHON and DATA there are ours.
    """

    CPU = 0  # operators and calls of CUDA's API
    COMPUTE = 1
    COMMUNICATION = 2
    COPY = 3
    KERNEL_GAP = 4  # between two kernels of a stream: gpu_kernel_kernel_overhead
    LAUNCH = 5  # from the start of the call to that of its kernel: gpu_kernel_launch_overhead
    PYTHON = 6  # between operators
    DATA = 7  # the same where the program waits for data or makes a batch, and operators that do


class CriticalRows(Table):
    """Stretches of the path by what bounds them and where they come from, most time first."""

    bound: Int8 = column("a `Bound`")
    name: Int32 = column("of the kernel or call of CUDA's API, -1 of others", Strings)
    operator: Int32 = column("innermost one, of a kernel that which launched it; -1 outside of all", Strings)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`: why there is no line")
    linked: Int8 = column("always 1")
    stretches: Int64 = column("how many", combine=Combine.SUM)
    total_ns: Int64 = column("on the path: what removing it could save at most", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest", combine=Combine.MOST)


@frozen
class CriticalPath:
    """The path through the steady steps of the leading loop, or without steps through all that was recorded.

    wall_ns: of that time. hta_ns: the length as HolisticTraceAnalysis defines it, without time between
    outermost operators and without other threads' work that a thread waits for. steps: 0 where none.
    """

    rows: CriticalRows
    length_ns: int
    hta_ns: int
    wall_ns: int
    steps: int
