"""The steps of one run in parts, as runs are compared by them."""

from __future__ import annotations

from collections.abc import Mapping

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.strings import Strings


class StepParts(Table):
    """Operators at a line, Python around them, what has no line: parts of the account, which sum to it."""

    kind: Int8 = column("a `LeafKind`")
    phase: Int8 = column("a `StepPhase`; of operators the one that corresponds to their `Phase`")
    frame: Int32 = column("the user's line, in backward that of the forward call, -1 none", Frames)
    module: Int32 = column("the nn.Module, -1 none", Modules)
    name: Int32 = column("the operator, -1 for Python around operators", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs: the first signature with this text", Signatures)
    calls: Int64 = column("number of calls, 0 for Python", combine=Combine.SUM)
    time_ns: Int64 = column("its time, without waiting for a processor", combine=Combine.SUM)


@frozen
class RunParts:
    """What the loop's thread did in the steps that count.

    Attributes:
        steps: their number.
        time_ns: sum of `parts`.
        waited_ns: what the thread waited for a processor in them, None if that was not measured.
        phases: the time of each; they sum to `time_ns` too.
        calls: number of operators in the median step; steady: the part of the steps that has this number.
    """

    parts: StepParts
    steps: int
    time_ns: int
    waited_ns: int | None
    phases: Mapping[StepPhase, int]
    calls: int
    steady: float
