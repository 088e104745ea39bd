"""Sequences of short kernels: what could be one kernel. -1 is "none"."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings

FEWEST = 3  # kernels of a sequence: HolisticTraceAnalysis' `min_pattern_len`
MOST = 512  # longer ones are cut


class SequenceKernels(Table):
    """The kernels of all sequences, one sequence behind the other."""

    name: Int32 = column("of the kernel", Strings)
    operator: Int32 = column("that launched it", Strings)


class SequenceRows(Table):
    """Sequences of the same kernels on one stream from one line and module, most time first.

    Each kernel is short, as in `LaunchedRows`: it took less time than its launch.
    """

    module: Int32 = column("the nn.Module that launched all of them", Modules)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`")
    linked: Int8 = column("always 1")
    first: Int64 = column("its first kernel, a row of `SequenceKernels`")
    kernels: Int64 = column("how many it has")
    times: Int64 = column("how often it ran", combine=Combine.SUM)
    total_ns: Int64 = column(
        "from the start of the first kernel to the end of the last, all times together", combine=Combine.SUM
    )
    gpu_ns: Int64 = column("the part of it in which its kernels ran", combine=Combine.SUM)
    call_ns: Int64 = column("time of the calls that launched them", combine=Combine.SUM)


@frozen
class Sequences:
    """Rows and the kernels that they are of."""

    rows: SequenceRows
    kernels: SequenceKernels
