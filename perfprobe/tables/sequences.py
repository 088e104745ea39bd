"""Sequences of short kernels that could be one kernel. -1 is "none"."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings

FEWEST = 3  # kernels in a sequence: HolisticTraceAnalysis' `min_pattern_len`
MOST = 512  # longer sequences are cut into several


class SequenceKernels(Table):
    """The kernels of all sequences, one sequence after the other."""

    name: Int32 = column("name of the kernel", Strings)
    operator: Int32 = column("the operator that launched it", Strings)


class SequenceRows(Table):
    """Sequences of the same short kernels, launched in a row onto one stream by one line and module.

    The one with the most time comes first. A kernel is short, as in `LaunchedRows`, if it took less time than
    its launch.
    """

    module: Int32 = column("the nn.Module that launched all of them", Modules)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`")
    linked: Int8 = column("always 1")
    first: Int64 = column("the first kernel: a row of `SequenceKernels`")
    kernels: Int64 = column("number of kernels")
    times: Int64 = column("how often the sequence ran", combine=Combine.SUM)
    total_ns: Int64 = column(
        "time from the start of the first kernel to the end of the last, summed over all runs",
        combine=Combine.SUM,
    )
    gpu_ns: Int64 = column("the part of total_ns in which the kernels ran", combine=Combine.SUM)
    call_ns: Int64 = column("time of the calls that launched them", combine=Combine.SUM)


@frozen
class Sequences:
    """Sequences and their kernels."""

    rows: SequenceRows
    kernels: SequenceKernels
