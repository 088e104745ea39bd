"""What happened, row by row: times are int64 nanoseconds of CLOCK_MONOTONIC, ids int32 rows of other tables.

-1 is "none" everywhere, never 0.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, Text, column
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings

CACHES = 6  # sizes that `operand_reuse` distinguishes
MOST_OPERANDS = RESULT = 16


class Threads(Table, name="threads"):
    """Threads that ran operators or Python, set ranges, called CUDA or were seen to use processors."""

    os_thread: Int64 = column("the system's number of it, -1 not known")
    forward_id: Int32 = column("torch's RecordFunction thread id, -1 not known")
    name: Int32 = column("its name", Strings)


class Signatures(Table, name="signatures"):
    """Operator inputs.

    values is a JSON list with an entry for each defined tensor of the text in order, lists flattened: null,
    or (of the first 64) what a sample of it held, of at most 256 elements, of integers 1024. Parts are of the
    sample. Floats `{"zeros": 0.5, "negatives": 0.25, "denormals": 0, "nonfinite": 0, "changes": 0.1,
    "ascending": 0.5, "quantiles": [-2.1, ..., 1.9], "sample": 256}`; integers `{"lowest": 0, "highest":
    31999, "distinct": 0.4, "ascending": 0.5, "trend": 0.5, "step": 9000, "far": 9100, "quantiles": [0, ...,
    31990], "sample": 1024}`; booleans `{"true": 0.5, "changes": 0.1, "sample": 256}`.

    changes: elements whose successor is zero where they are not, or the other way round, or the other
    boolean. ascending: those smaller than their successor, of those that differ from it; step: the median
    distance to it, of the same; trend, far: the same of elements of the first half and of the second.
    distinct: how much of the sample is left without repetitions. quantiles: lowest, highest and seven
    between, of floats those that are finite, not zero and not denormal; empty where none is.
    """

    text: Int32 = column("the inputs in the grammar of signatures", Strings)
    example: Int32 = column("the same with float values", Strings)
    values: Int32 = column("what was in the tensors when the signature was first seen", Strings)
    grad_mask: Int64 = column("which tensors require grad: a bit each")
    name: Int32 = column("the operator whose inputs these are", Strings)
    overload: Int32 = column("the name of its overload", Strings)


class SignatureValues(Table, name="signature_values"):
    """Looks at the tensors of later calls.

    Only where all operators have CPU time: at calls 4, 7, 11, 17, 26, ... on a thread.
    """

    signature: Int32 = column("whose tensors these are", Signatures)
    values: Int32 = column("what was in them, as in `signatures`", Strings)


class OperandReuse(Table, name="operand_reuse", most_rows=4_194_304):
    """How long ago operands were last touched, by signature; only where all operators have CPU time.

    At most 8 rows for each of 17 operands of each of 16,384 signatures, twice.
    """

    signature: Int32 = column("of the first 16,384 ones", Signatures)
    operand: Int32 = column("which tensor of the text, lists flattened, of 16; 16 for the first result")
    same_as: Int32 = column("the earlier operand that it also is in most calls, -1 for none")
    bucket: Int32 = column(
        "0 to 5: in which cache, of 64 KiB * 4 ** bucket, it still lay; 6 in none, 7 never touched before"
    )
    calls: Int64 = column("so many of them", combine=Combine.SUM)
    back_bytes: Int64 = column(
        "what operators had touched since, on average, as far as it did not lie in the next smaller cache"
    )


class RecordedCall(Table):
    """Columns of an operator that linking does not change."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    depth: Int32 = column("operators that were open on its thread when it began")
    name: Int32 = column("its name, `aten::mm`", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    stack: Int32 = column("the Python that called it", Stacks)
    thread: Int32 = column("where it ran", Threads)
    scope: Int8 = column("torch's RecordScope: 0 an operator, 1 a backward node, 7 a range")
    cpu_ns: Int64 = column(
        "CPU time of its thread, with what it called; not of other threads",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    faults: Int32 = column(
        "page faults of its thread without a disk; counted where all operators have CPU time",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    allocated_bytes: Int64 = column(
        "by itself, without what it called; the autograd profiler's", combine=Combine.SUM, optional=True
    )
    freed_bytes: Int64 = column(
        "by itself, without what it called; the autograd profiler's", combine=Combine.SUM, optional=True
    )


class Operators(RecordedCall, name="operators"):
    """Operators as recorded, in the order in which they ended on their thread.

    The parent of a row is the next later row of the thread with depth - 1.
    """

    sequence: Int64 = column("torch's autograd sequence number")
    forward_thread: Int32 = column("of a backward node: torch's number of the thread of its forward call")
    node_sequence: Int64 = column(
        "the number of the backward node it runs in, -1 when that has none; of AccumulateGrad, whose "
        "parameter a module holds, -2 less the row of that module"
    )
    node_thread: Int32 = column(
        "forward thread of the backward node it runs in; -1 not in backward, 0 the node is not known"
    )


class AutogradOperators(Operators, name="autograd_operators"):
    """Operators as the autograd profiler recorded them beside the observer."""


class AutogradWindows(Table, name="autograd_windows"):
    """When the autograd profiler recorded beside the observer: a row for each window and thread it saw."""

    start_ns: Int64 = column("when the window began")
    end_ns: Int64 = column("when it ended")
    thread: Int32 = column(
        "what its operators name, which is not the observer's row for that thread", Threads
    )
    rows: Int64 = column("how many operators it recorded")


class Losses(Table, name="losses"):
    """What was lost or not recorded."""

    source: Text = column("the collector, or what else it is of")
    reason: Text = column("what is missing, and why")
    count: Int64 = column("how many, -1 not known")
    remedy: Text = column("what fixes or avoids it; may be empty")

    @classmethod
    def one(cls, source: str, reason: str, count: int, remedy: str = "") -> Losses:
        """A table of one row; a count of -1 is unknown."""
        texts = [np.array([text], np.object_) for text in (source, reason, remedy)]
        return cls(source=texts[0], reason=texts[1], count=np.array([count], np.int64), remedy=texts[2])


class Progress(Table, name="progress"):
    """How far the recording reaches: written at every flush."""

    time_ns: Int64 = column("when that was")
    cpu_ns: Int64 = column("CPU time of the process by then")


class LinkedOperators(RecordedCall):
    """Operators with their links, grouped by thread, in the order in which they ended."""

    self_ns: Int64 = column(
        "duration less that of the direct children; 0 where autograd ran Python in it",
        combine=Combine.SUM,
    )
    python_ns: Int64 = column(
        "where autograd ran Python in it (a Function, a hook): duration less that of the direct children",
        combine=Combine.SUM,
        optional=True,
    )
    cpu_self_ns: Int64 = column(
        "CPU time less that of the direct children, unless not all operators have it",
        combine=Combine.SUM,
        optional=True,
    )
    recording_ns: Int64 = column(
        "the part of CPU time that recording took, by what it was measured to cost",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    frame: Int32 = column("the user's line: of Python that ran in backward, else of the forward call", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    forward_stack: Int32 = column("in backward, the stack of the forward call", Stacks)
    module: Int32 = column("the nn.Module, of those of equal name the first", Modules)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`: why there is no frame of its own call")
    autograd_ns: Int64 = column(
        "how long the autograd profiler saw the same call, where it recorded beside the observer",
        combine=Combine.SUM,
        optional=True,
    )
    autograd_self_ns: Int64 = column(
        "its self time as the autograd profiler saw it", combine=Combine.SUM, optional=True
    )
    gpu_ns: Int64 = column(
        "on GPUs, of all that was launched while it ran, added up where several ran at once",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    gpu_self_ns: Int64 = column(
        "on GPUs, of what it launched itself, without CUDA graphs, which stand for many operators",
        combine=Combine.SUM,
        optional=True,
    )
