"""Time by stack: what call graphs, collapsed stacks and flame graphs are made of."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Stacks
from perfprobe.tables.strings import Strings


class SpentTime(Table):
    """Operators as they were measured, and the time between them as samples divide it, in no order."""

    thread: Int32 = column("the thread", Threads)
    stack: Int32 = column("the Python stack in which the time passed, -1 if not known", Stacks)
    hanging: Int32 = column("as `OperatorSites.stack`: in backward the stack of the forward call", Stacks)
    look: Int8 = column("why there is no stack, as `SampledStacks.look`")
    name: Int32 = column("the operator, -1 between operators", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs: the first signature with this text", Signatures)
    phase: Int8 = column("its `Phase`, -1 between operators")
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    time_ns: Int64 = column("its own time", combine=Combine.SUM)
    kind: Int8 = column("what it is if no function is known, as `Leaves.kind`; -1 for none")


class ApartKind(IntEnum):
    """What a run has beside the time that shares are of."""

    START_UP = 0
    LEFT_OUT = 1  # steps of the leading loop that do not count
    EVALUATION = 2
    OTHER_LOOPS = 3
    PROCESSOR = 4  # waiting for a processor in the steps that count
    THREADS = 5  # operators of other threads, at the same time
    AFTER = 6  # outside of the steps, after the first one


APART_TEXTS = {
    ApartKind.START_UP: "start-up",
    ApartKind.LEFT_OUT: "step left out",
    ApartKind.EVALUATION: "evaluation",
    ApartKind.OTHER_LOOPS: "step of another loop",
    ApartKind.PROCESSOR: "waiting for a processor",
    ApartKind.THREADS: "operators of other threads, at the same time",
    ApartKind.AFTER: "outside of the steps",
}


class ApartTimes(Table):
    """Time that is no part of the 100 %, in the order of `ApartKind`."""

    kind: Int8 = column("an `ApartKind`")
    time_ns: Int64 = column("how long", combine=Combine.SUM)
    count: Int64 = column("how many there were, such as steps; -1 if they are not counted")


@frozen
class Spent:
    """Time by stack.

    whole_ns: what shares are of. waiting_ns: omitted time in which threads other than the main one only
    waited. steps: the number of steps that it is of, 0 for the whole run.
    """

    rows: SpentTime
    whole_ns: int
    waiting_ns: int
    steps: int
    apart: ApartTimes


class RunSpent(Spent):
    """Time of the whole run."""


class LoopSpent(Spent):
    """Own time of the leading loop's steps that count, as the account has it."""
