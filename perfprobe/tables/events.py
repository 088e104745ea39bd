"""Tables of events. Times are int64 nanoseconds of CLOCK_MONOTONIC, ids int32 rows of other tables.

-1 always means none; 0 never does.
"""

from __future__ import annotations

import numpy as np

from perfprobe.support.errors import InputError
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, Text, column
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings

CACHES = 6  # number of cache sizes that `operand_reuse` distinguishes
MOST_OPERANDS = RESULT = 16


class Threads(Table, name="threads"):
    """Threads that ran operators or Python, set ranges, called CUDA or used processors."""

    os_thread: Int64 = column("the system's number, -1 if not known")
    forward_id: Int32 = column("torch's RecordFunction thread id, -1 if not known")
    name: Int32 = column("its name", Strings)


class Signatures(Table, name="signatures"):
    """Operator inputs.

    `values` is a JSON list with an entry for each defined tensor of the text in order, lists flattened. An
    entry is null, or (for the first 64) statistics of a sample of at most 256 elements, for integers 1024.
    Parts are of the sample. Floats: `{"zeros": 0.5, "negatives": 0.25, "denormals": 0, "nonfinite": 0,
    "changes": 0.1, "ascending": 0.5, "quantiles": [-2.1, ..., 1.9], "sample": 256}`. Integers: `{"lowest": 0,
    "highest": 31999, "distinct": 0.4, "ascending": 0.5, "trend": 0.5, "step": 9000, "far": 9100, "quantiles":
    [0, ..., 31990], "sample": 1024}`. Booleans: `{"true": 0.5, "changes": 0.1, "sample": 256}`.

    `changes`: part of elements that differ from their successor in being zero, or for booleans in their
    value. `ascending`: among elements that differ from their successor, the part that is smaller. `step`:
    their median difference. `trend` and `far`: the same for pairs of elements of the first and the second
    half. `distinct`: part of the sample that is left without repetitions. `quantiles`: lowest, highest and
    seven between, for floats only of those that are finite, not zero and not denormal; empty if there are
    none.
    """

    text: Int32 = column("the text of the inputs", Strings)
    example: Int32 = column("the same text with the values of floats", Strings)
    values: Int32 = column("statistics of the tensors' values when the signature was first seen", Strings)
    grad_mask: Int64 = column("the tensors that require grad, a bit for each")
    name: Int32 = column("name of the operator with these inputs", Strings)
    overload: Int32 = column("the name of its overload", Strings)


class SignatureValues(Table, name="signature_values"):
    """Statistics of the tensors' values in later calls.

    Only recorded if all operators have CPU time: at calls 4, 7, 11, 17, 26, ... on a thread.
    """

    signature: Int32 = column("the signature of the call", Signatures)
    values: Int32 = column("the statistics, as in `signatures`", Strings)


class OperandReuse(Table, name="operand_reuse", most_rows=4_194_304):
    """How long ago operands were last touched, by signature. Only recorded if all operators have CPU time.

    At most 8 rows for each of 17 operands of each of 16,384 signatures, twice.
    """

    signature: Int32 = column("one of the first 16,384 signatures", Signatures)
    operand: Int32 = column(
        "the tensor's position in the text, lists flattened, below 16; 16 for the first result"
    )
    same_as: Int32 = column("the earlier operand that is the same tensor in most calls, -1 if none")
    bucket: Int32 = column(
        "0 to 5: the smallest cache, of 64 KiB * 4 ** bucket, that still had it; 6: none, 7: first touch"
    )
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    back_bytes: Int64 = column("mean of the bytes that operators had touched since then")


class RecordedCall(Table):
    """Columns of an operator that linking does not change."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    depth: Int32 = column("number of operators that were open on its thread when it began")
    name: Int32 = column("its name, such as `aten::mm`", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)
    stack: Int32 = column("the Python stack that called it", Stacks)
    thread: Int32 = column("the thread it ran on", Threads)
    scope: Int8 = column("torch's RecordScope: 0 operator, 1 backward node, 7 range")
    cpu_ns: Int64 = column(
        "CPU time of its thread in it and in what it called, without other threads",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    faults: Int32 = column(
        "minor page faults of its thread; counted if all operators have CPU time",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    allocated_bytes: Int64 = column(
        "memory that the operator itself allocated",
        combine=Combine.SUM,
        optional=True,
    )
    freed_bytes: Int64 = column(
        "memory that the operator itself freed",
        combine=Combine.SUM,
        optional=True,
    )


class Operators(RecordedCall, name="operators"):
    """Operators as recorded, in the order of their ends on their thread.

    The parent of a row is the next later row of the thread with depth - 1.
    """

    sequence: Int64 = column("torch's autograd sequence number")
    forward_thread: Int32 = column("for a backward node, torch's number of its forward call's thread")
    node_sequence: Int64 = column(
        "number of the backward node it runs in, -1 if the node has none; for AccumulateGrad, if a module "
        "holds the parameter, -2 minus the row of that module"
    )
    node_thread: Int32 = column(
        "forward thread of the backward node it runs in, -1 outside of backward, 0 if the node is not known"
    )


class AutogradOperators(Operators, name="autograd_operators"):
    """Operators as recorded by the autograd profiler, with `--operators both`."""


class AutogradWindows(Table, name="autograd_windows"):
    """With `--operators both`: a row for each window and thread of the autograd profiler."""

    start_ns: Int64 = column("when the window began")
    end_ns: Int64 = column("when it ended")
    thread: Int32 = column(
        "the thread of its operators, which is not the observer's row for that thread", Threads
    )
    rows: Int64 = column("number of operators recorded")


class OperatorWindows(Table, name="operator_windows"):
    """When operators were recorded, in a worker of a DataLoader where recording all would cost too much.

    Without any row they were recorded all the time.
    """

    start_ns: Int64 = column("when recording began")
    end_ns: Int64 = column("when it ended")

    def recorded_ns(self) -> int:
        """Returns how long operators were recorded."""
        return int(np.maximum(self.end_ns - self.start_ns, 0).sum())


class Losses(Table, name="losses"):
    """What was lost or not recorded."""

    source: Text = column("the collector or other part that has the loss")
    reason: Text = column("what is missing, and why")
    count: Int64 = column("how many, -1 if not known")
    remedy: Text = column("what fixes or avoids it; may be empty")

    @classmethod
    def one(cls, source: str, reason: str, count: int, remedy: str = "") -> Losses:
        """Returns a table of one row. count: -1 if not known."""
        texts = [np.array([text], np.object_) for text in (source, reason, remedy)]
        return cls(source=texts[0], reason=texts[1], count=np.array([count], np.int64), remedy=texts[2])

    @classmethod
    def unread(cls, source: str, error: InputError) -> Losses:
        """Returns a table of one row: a file beside the recording cannot be read."""
        return cls.one(source, f"{error.what}: {error.where}", 1, error.remedy)


class Progress(Table, name="progress"):
    """How far the recording reaches; written at every flush."""

    time_ns: Int64 = column("time of the flush")
    cpu_ns: Int64 = column("CPU time of the process until then")


class LinkedOperators(RecordedCall):
    """Operators with their links, grouped by thread, in the order of their ends."""

    sequence: Int64 = column("torch's autograd sequence number, -1 where gradients are disabled")
    self_ns: Int64 = column(
        "duration minus that of direct children; 0 if autograd ran Python in it",
        combine=Combine.SUM,
    )
    python_ns: Int64 = column(
        "if autograd ran Python in it (a Function, a hook): duration minus that of direct children",
        combine=Combine.SUM,
        optional=True,
    )
    cpu_self_ns: Int64 = column(
        "CPU time minus that of direct children, if all operators have CPU time",
        combine=Combine.SUM,
        optional=True,
    )
    recording_ns: Int64 = column(
        "the part of CPU time that recording took, by its measured cost",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    frame: Int32 = column(
        "the user's line; in backward of Python that ran there, else of the forward call", Frames
    )
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    forward_stack: Int32 = column("in backward, the stack of the forward call", Stacks)
    module: Int32 = column("the nn.Module, the first one with this path", Modules)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`: why its own call has no frame")
    autograd_ns: Int64 = column(
        "the same call's duration by the autograd profiler, if it recorded too",
        combine=Combine.SUM,
        optional=True,
    )
    autograd_self_ns: Int64 = column(
        "its self time by the autograd profiler", combine=Combine.SUM, optional=True
    )
    gpu_ns: Int64 = column(
        "GPU time of all that was launched while it ran, summed even if work overlapped",
        combine=Combine.OUTERMOST,
        optional=True,
    )
    gpu_self_ns: Int64 = column(
        "GPU time of what it launched itself, without CUDA graphs, each of which covers many operators",
        combine=Combine.SUM,
        optional=True,
    )
