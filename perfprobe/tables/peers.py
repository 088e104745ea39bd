"""The steps by the definitions of other profilers: Paddle's profiler, the TensorBoard plugin.

These are the leading loop's steps that count in averages. In a program without steps, all operators are one
step.
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
    """Paddle's model perspective: of nested events only the outermost counts."""

    PROFILE_STEP = 0
    DATALOADER = 1  # the loader's `next`
    FORWARD = 2  # a call of an outermost module; a loss that is a function does not count
    BACKWARD = 3  # from the first to the last operator of a call of `backward`
    OPTIMIZATION = 4  # an optimizer's `step`


class PeerType(IntEnum):
    """Paddle's types of events. Those of `PeerPhase` are types too, with the same numbers."""

    PROFILE_STEP = 0
    DATALOADER = 1
    FORWARD = 2
    BACKWARD = 3
    OPTIMIZATION = 4
    OPERATOR = 5  # not within another operator
    OPERATOR_INNER = 6  # within another operator
    USER_DEFINED = 7  # the program's own ranges
    CUDA_RUNTIME = 8
    KERNEL = 9
    MEMCPY = 10
    MEMSET = 11
    COMMUNICATION = 12  # kernels that communicate


ON_GPU = (PeerType.KERNEL, PeerType.MEMCPY, PeerType.MEMSET, PeerType.COMMUNICATION)


class Role(IntEnum):
    """TensorBoard's roles. Each moment of a step counts for the first role active on any thread or GPU."""

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

    step: Int32 = column("the step, -1 if no steps were found", Steps)
    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")


class PeerCalls(Table):
    """Calls with one name that began in the steps, on any thread."""

    name: Int32 = column("name of the operator or range", Strings)
    within: Int32 = column("the operator directly around them, -1 if none", Strings)
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    total_ns: Int64 = column("sum of their durations", combine=Combine.SUM)
    least_ns: Int64 = column("the shortest duration", combine=Combine.LEAST)
    most_ns: Int64 = column("the longest duration", combine=Combine.MOST)
    gpu_ns: Int64 = column("GPU time of what was launched in them", combine=Combine.SUM, optional=True)
    gpu_least_ns: Int64 = column("the least GPU time of a call", combine=Combine.LEAST, optional=True)
    gpu_most_ns: Int64 = column("the most GPU time of a call", combine=Combine.MOST, optional=True)


class PeerPhases(Table):
    """Paddle's phases of the steps. There is a row for each `PeerPhase` that occurred."""

    phase: Int8 = column("a `PeerPhase`")
    calls: Int64 = column("number of events", combine=Combine.SUM)
    total_ns: Int64 = column("sum of their wall times", combine=Combine.SUM)
    least_ns: Int64 = column("the shortest duration", combine=Combine.LEAST)
    most_ns: Int64 = column("the longest duration", combine=Combine.MOST)
    gpu_ns: Int64 = column(
        "sum of the durations of all kernels, copies and fills launched in them",
        combine=Combine.SUM,
        optional=True,
    )
    gpu_least_ns: Int64 = column("the least GPU time of an event", combine=Combine.LEAST, optional=True)
    gpu_most_ns: Int64 = column("the most GPU time of an event", combine=Combine.MOST, optional=True)


class PeerTypes(Table):
    """Paddle's types of events in the steps. There is a row for each `PeerType` that occurred."""

    type: Int8 = column("a `PeerType`")
    calls: Int64 = column("number of events", combine=Combine.SUM)
    open_ns: Int64 = column("time in which at least one was open, on any thread")


class PeerKernels(Table):
    """Kernels launched in the steps, by name: Paddle's `KernelView`."""

    name: Int32 = column("name of the kernel", Strings)
    calls: Int64 = column("how often it ran", combine=Combine.SUM)
    total_ns: Int64 = column("sum of the durations", combine=Combine.SUM)
    least_ns: Int64 = column("the shortest duration", combine=Combine.LEAST)
    most_ns: Int64 = column("the longest duration", combine=Combine.MOST)


@frozen
class Distribution:
    """Paddle's `DistributedView`: how long collectives or their kernels were open in the steps, kernels that
    compute ran, and both at the same time.
    """

    communication_ns: int
    computation_ns: int
    overlap_ns: int


class StepRoles(Table):
    """TensorBoard's breakdown of each step. The times of a step sum to its duration there."""

    step: Int32 = column("the step", PluginSteps)
    role: Int8 = column("a `Role`")
    time_ns: Int64 = column("the part of the step that no earlier role has", combine=Combine.SUM)


class RuntimeTimes(Table):
    """Self time of operators in CUDA calls, in the whole recording."""

    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("the first signature with this text", Signatures)
    time_ns: Int64 = column("sum of the durations of calls, without nested ones", combine=Combine.SUM)


@frozen
class PeerTimes:
    """Times by the definitions of other profilers.

    Attributes:
        has_steps: whether steps were found.
        left_out: how many steps are not counted, by reason.
        operators: outermost operators, and what ran directly within them.
        ranges: the program's own.
        distribution: None if nothing communicated.
        plugin_steps: the steps of `roles`.
        busy_ns: for each GPU by its number, how long a kernel ran on it in the steps.
        module_calls: for each row of `Modules` how often it was called at least, in the whole recording.
    """

    steps: PeerSteps
    has_steps: bool
    left_out: Mapping[StepMark, int]
    phases: PeerPhases
    types: PeerTypes
    operators: PeerCalls
    ranges: PeerCalls
    kernels: PeerKernels
    distribution: Distribution | None
    plugin_steps: PluginSteps
    roles: StepRoles
    busy_ns: Mapping[int, int]
    runtime: RuntimeTimes
    module_calls: Int64
