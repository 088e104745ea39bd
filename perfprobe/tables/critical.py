"""The critical path: the longest chain of work in which each part waited for the one before. -1 is "none"."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


class Bound(IntEnum):
    """What limits a stretch of the path.

    The values are those of HolisticTraceAnalysis (`critical_path_analysis.py`, `bound_by`), with two
    differences. It counts copies as kernels that compute. It leaves out the time between operators, for which
    perfprobe has PYTHON and DATA.
    """

    CPU = 0  # operators and calls of CUDA's API
    COMPUTE = 1
    COMMUNICATION = 2
    COPY = 3
    KERNEL_GAP = 4  # between two kernels of a stream: gpu_kernel_kernel_overhead
    LAUNCH = 5  # from the start of the call to the start of its kernel: gpu_kernel_launch_overhead
    PYTHON = 6  # between operators
    DATA = 7  # time, also of operators, in which the program waits for data or makes a batch


class CriticalRows(Table):
    """Stretches of the path, grouped by what limits them and where they come from, most time first."""

    bound: Int8 = column("a `Bound`")
    name: Int32 = column("name of the kernel or call of CUDA's API, -1 for others", Strings)
    operator: Int32 = column(
        "innermost operator; for a kernel, the one that launched it; -1 if none", Strings
    )
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`: why there is no line")
    linked: Int8 = column("always 1")
    stretches: Int64 = column("number of stretches", combine=Combine.SUM)
    total_ns: Int64 = column("time on the path: the most that removing it could save", combine=Combine.SUM)
    longest_ns: Int64 = column("time of the longest stretch", combine=Combine.MOST)


@frozen
class CriticalPath:
    """The critical path through the steady steps of the leading loop, or through everything without steps.

    Attributes:
        hta_ns: the length as HolisticTraceAnalysis defines it: without the time between outermost operators,
            and without the work of other threads that a thread waits for.
        wall_ns: the wall time that the path covers.
        steps: number of steps, 0 if no steps were found.
        steady_steps: number of all steady steps of the leading loop.
        left_out: number of operators that began later than the path ends: in a long recording it covers only
            so many of the first steady steps as memory allows.
    """

    rows: CriticalRows
    length_ns: int
    hta_ns: int
    wall_ns: int
    steps: int
    steady_steps: int
    left_out: int
