"""What happened, row by row: times are int64 nanoseconds of CLOCK_MONOTONIC, ids int32 rows of other tables.

-1 is "none" everywhere, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfprobe.tables.columns import Int8, Int32, Int64, Table, Text

CACHES = 6  # whose sizes `operand_reuse` tells apart
MOST_OPERANDS = RESULT = 16


@dataclass(frozen=True)
class Operators(Table):
    """Operators as recorded, in the order in which they ended on their thread.

    depth: operators open on that thread when it started, so that the parent is the next later row of the
    thread with depth - 1. cpu_ns: CPU time of the thread from start to end, with
    what the operator called; not of other threads. sequence: torch's autograd
    sequence number. node_thread: forward thread of the backward node the row runs in; -1 not in backward, 0
    in backward but the node is not known. node_sequence: that node's number, -1 when it has none.
    allocated_bytes, freed_bytes: by the operator itself, without those it called; only the autograd profiler
    records them. faults: page faults of the thread without a disk, from start to end; counted where all
    operators have CPU time.
    """

    start_ns: Int64
    end_ns: Int64
    cpu_ns: Int64
    thread: Int32
    depth: Int32
    name: Int32
    overload: Int32
    signature: Int32
    stack: Int32
    sequence: Int64
    forward_thread: Int32
    scope: Int8
    node_sequence: Int64
    node_thread: Int32
    allocated_bytes: Int64
    freed_bytes: Int64
    faults: Int32


@dataclass(frozen=True)
class AutogradWindows(Table):
    """When the autograd profiler recorded beside the observer: a row for each window and thread it saw.

    thread: the row of `threads` that its operators name, which is not the observer's row for that thread.
    """

    start_ns: Int64
    end_ns: Int64
    thread: Int32
    rows: Int64


@dataclass(frozen=True)
class Signatures(Table):
    """Operator inputs.

    text: string id; example: string id of the same with float values, -1 for none; values: string id of what
    was in the tensors when the signature was first seen, -1 where nothing was looked at; grad_mask: which
    tensors require grad.

    values is a JSON list with an entry for each defined tensor of the text in order, lists flattened: null,
    or (of the first 64) what a sample of 256 elements held; parts are of the sample. Floats `{"zeros": 0.5,
    "negatives": 0.25, "denormals": 0, "nonfinite": 0}`, integers `{"lowest": 0, "highest": 31999, "distinct":
    0.4}` (how much of the sample is left without repetitions), booleans `{"true": 0.5}`.
    """

    text: Int32
    example: Int32
    values: Int32
    grad_mask: Int64


@dataclass(frozen=True)
class SignatureValues(Table):
    """Looks at the tensors of later calls. signature: a row of `Signatures`; values: as there.

    Only where all operators have CPU time: at calls 4, 7, 11, 17, 26, ... on a thread.
    """

    signature: Int32
    values: Int32


@dataclass(frozen=True)
class OperandReuse(Table):
    """How long ago operands had last been touched, by signature; where all operators have CPU time.

    signature: of the first 16,384. operand: which defined tensor of the text, lists flattened, of the first
    16; 16 for the memory of the first result. same_as: the earlier operand that it also is in most calls, -1
    for none. bucket: 0 to 5, how large a cache it still lay in, of 64 KiB * 4 ** bucket, when what any
    thread's operators touch goes through it; 6 where in none, 7 where no operator had touched it before.
    calls: so many of them. back_bytes: what operators had touched since, on average, as far as it did not lie
    in the next smaller of these caches.
    """

    signature: Int32
    operand: Int32
    same_as: Int32
    bucket: Int32
    calls: Int64
    back_bytes: Int64


@dataclass(frozen=True)
class Threads(Table):
    """Threads that ran operators. forward_id: torch's RecordFunction thread id; name: string id."""

    os_thread: Int64
    forward_id: Int32
    name: Int32


@dataclass(frozen=True)
class Losses(Table):
    """What was lost or not recorded: by which source, why, how many, and what mends it."""

    source: Text
    reason: Text
    count: Int64
    remedy: Text

    @classmethod
    def one(cls, source: str, reason: str, count: int, remedy: str = "") -> Losses:
        """A table of one row; a count of -1 is not known."""
        texts = [np.array([text], np.object_) for text in (source, reason, remedy)]
        return cls(source=texts[0], reason=texts[1], count=np.array([count], np.int64), remedy=texts[2])


@dataclass(frozen=True)
class Progress(Table):
    """Written at every flush: the time, and the process's CPU time by then."""

    time_ns: Int64
    cpu_ns: Int64


@dataclass(frozen=True)
class LinkedOperators(Table):
    """Operators with their links, grouped by thread, in the order in which they ended.

    self_ns: duration less that of the direct children. cpu_ns: as recorded; cpu_self_ns: less that of the
    direct children, -1 unless all operators have it. recording_ns: the part of cpu_ns that recording took, by
    what it was measured to cost; faults: as recorded; both -1 likewise. frame: the user's line; for a row in
    backward the line of Python that ran in backward, else the line of the forward call. forward_frame: in
    backward, the line of the forward call; forward_stack: in backward, the stack of the forward call, -1
    where it is not known. module: the nn.Module. phase: a `Phase`. gap: a `Gap`, why there is no frame.
    autograd_ns, autograd_self_ns: duration and self time of the same call as the autograd profiler saw it,
    where it recorded beside the observer. gpu_ns: time on GPUs of all that was launched while it ran, by it
    or by what it called, added up where several ran at once; gpu_self_ns: of what it launched itself, without
    CUDA graphs, which stand for many operators; both -1 where nothing was recorded of GPUs.
    """

    start_ns: Int64
    end_ns: Int64
    self_ns: Int64
    cpu_ns: Int64
    cpu_self_ns: Int64
    recording_ns: Int64
    faults: Int32
    thread: Int32
    depth: Int32
    name: Int32
    overload: Int32
    signature: Int32
    stack: Int32
    scope: Int8
    frame: Int32
    forward_frame: Int32
    forward_stack: Int32
    module: Int32
    phase: Int8
    gap: Int8
    allocated_bytes: Int64
    freed_bytes: Int64
    autograd_ns: Int64
    autograd_self_ns: Int64
    gpu_ns: Int64
    gpu_self_ns: Int64
