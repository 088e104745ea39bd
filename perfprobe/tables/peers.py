"""The steps by the definitions of other profilers: Paddle's profiler, the TensorBoard plugin.

For the leading loop's steps that averages use; for a program without steps, all its operators as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures
from perfprobe.tables.gpu_use import PluginSteps
from perfprobe.tables.steps import StepMark, Steps
from perfprobe.tables.strings import Strings


class PeerPhase(IntEnum):
    """Paddle's model perspective: of events within each other the outermost."""

    PROFILE_STEP = 0
    DATALOADER = 1  # the loader's `next`
    FORWARD = 2  # a call of an outermost module; not a loss that is a function
    BACKWARD = 3  # from the first to the last operator of a call of `backward`
    OPTIMIZATION = 4  # an optimizer's `step`


class PeerType(IntEnum):
    """Paddle's types of events; those of `PeerPhase` are types too, with the same numbers."""

    PROFILE_STEP = 0
    DATALOADER = 1
    FORWARD = 2
    BACKWARD = 3
    OPTIMIZATION = 4
    OPERATOR = 5  # not within another operator
    OPERATOR_INNER = 6  # within another operator
    USER_DEFINED = 7  # ranges of the program's own
    CUDA_RUNTIME = 8
    KERNEL = 9
    MEMCPY = 10
    MEMSET = 11
    COMMUNICATION = 12  # kernels of NCCL


ON_GPU = (PeerType.KERNEL, PeerType.MEMCPY, PeerType.MEMSET, PeerType.COMMUNICATION)


class Role(IntEnum):
    """TensorBoard's roles: each moment of a step counts for the first role active on any thread or GPU."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    COMMUNICATION = 3
    RUNTIME = 4
    DATALOADER = 5
    CPU_EXEC = 6  # operators, and ranges that the program or torch set
    OTHER = 7


class PeerSteps(Table):
    """The steps, by time."""

    step: Int32 = column("which, -1 where none were found", Steps)
    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")


class PeerCalls(Table):
    """Calls of one name that began in the steps, on any thread."""

    name: Int32 = column("of the operator or the range", Strings)
    within: Int32 = column("the operator directly within which they ran, -1 in none", Strings)
    calls: Int64 = column("how many", combine=Combine.SUM)
    total_ns: Int64 = column("their durations together", combine=Combine.SUM)
    least_ns: Int64 = column("the shortest", combine=Combine.LEAST)
    most_ns: Int64 = column("the longest", combine=Combine.MOST)
    gpu_ns: Int64 = column("on GPUs, of what was launched in them", combine=Combine.SUM, optional=True)
    gpu_least_ns: Int64 = column("the least of a call", combine=Combine.LEAST, optional=True)
    gpu_most_ns: Int64 = column("the most of a call", combine=Combine.MOST, optional=True)


class PeerPhases(Table):
    """Paddle's phases of the steps; a row for each `PeerPhase` that occurred."""

    phase: Int8 = column("a `PeerPhase`")
    calls: Int64 = column("how many", combine=Combine.SUM)
    total_ns: Int64 = column("wall time together", combine=Combine.SUM)
    least_ns: Int64 = column("the shortest", combine=Combine.LEAST)
    most_ns: Int64 = column("the longest", combine=Combine.MOST)
    gpu_ns: Int64 = column(
        "durations of all kernels, copies and fills launched in them", combine=Combine.SUM, optional=True
    )
    gpu_least_ns: Int64 = column("the least of one", combine=Combine.LEAST, optional=True)
    gpu_most_ns: Int64 = column("the most of one", combine=Combine.MOST, optional=True)


class PeerTypes(Table):
    """Paddle's types of events in the steps; a row for each `PeerType` that occurred."""

    type: Int8 = column("a `PeerType`")
    calls: Int64 = column("how many", combine=Combine.SUM)
    open_ns: Int64 = column("time in which at least one was open, on whatever thread")


class StepRoles(Table):
    """TensorBoard's breakdown of each step; the times of a step sum to its duration there."""

    step: Int32 = column("which", PluginSteps)
    role: Int8 = column("a `Role`")
    time_ns: Int64 = column("the part of the step that no role before it has", combine=Combine.SUM)


class RuntimeTimes(Table):
    """Self time of operators in calls of CUDA, in the whole recording."""

    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("the first signature of that text", Signatures)
    time_ns: Int64 = column("durations of the calls, those within others left out", combine=Combine.SUM)


@frozen
class PeerTimes:
    """All of these. has_steps: whether steps were found; left_out: how many of them are not among these, by
    what keeps them out.

    operators: those within no other one, and what ran directly within them; ranges: the program's own.
    plugin_steps: those of roles. busy_ns: of each GPU by its number, how long a kernel ran on it in the
    steps.
    """

    steps: PeerSteps
    has_steps: bool
    left_out: Mapping[StepMark, int]
    phases: PeerPhases
    types: PeerTypes
    operators: PeerCalls
    ranges: PeerCalls
    plugin_steps: PluginSteps
    roles: StepRoles
    busy_ns: Mapping[int, int]
    runtime: RuntimeTimes
