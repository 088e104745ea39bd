"""How well GPUs were used, by the definitions of the TensorBoard plugin and by our own."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int32, Int64, Table, column


class PluginSteps(Table):
    """Steps by the TensorBoard plugin's definition, in order.

    They are the ranges `ProfilerStep#N`. If a program set none, they are the steps that were found, or all
    operators are one step. With a GPU each step lasts until the end of the last kernel or copy launched in
    it, and the next one begins there.
    """

    number: Int32 = column("N, or the number of the step that was found, -1 if all operators are one step")
    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")


@frozen
class StepMarks:
    """What `PluginSteps` are made from.

    Attributes:
        ranges: `ProfilerStep#N` as recorded, in no order.
        first_ns, last_ns: of all operators and of these ranges; last_ns is -1 without any.
    """

    ranges: PluginSteps
    first_ns: int
    last_ns: int


class StepUse(Table):
    """What GPUs did in each of `PluginSteps`. Each moment counts once, for the first column that applies."""

    step: Int32 = column("the step", PluginSteps)
    computing_ns: Int64 = column("time in which a kernel that computes ran", combine=Combine.SUM)
    communication_ns: Int64 = column(
        "other time in which a kernel that communicates ran", combine=Combine.SUM
    )
    copying_ns: Int64 = column("other time in which a copy or a fill ran", combine=Combine.SUM)
    idle_ns: Int64 = column("time in which nothing ran on any GPU", combine=Combine.SUM)


@frozen
class DeviceUse:
    """What a GPU did from the start of the first of `PluginSteps` to the end of the last, span_ns.

    Attributes:
        kernel_ns: time in which at least one kernel ran; busy_ns: or a copy.
        sm_efficiency: the mean fraction of multiprocessors that had a block of a running kernel.
        plugin_occupancy: mean of Kineto's estimate over the time of kernels.
        occupancy: the same with perfprobe's figures, which cover blocks of more than 48 KiB of shared memory.
        kernels_ns: time of all kernels of the recording that operators launched.
        tensor_ns: of those with tensor cores, by our list; plugin_tensor_ns: by the plugin's list.

    Fractions are of 1, and None if grid or device are not known.
    """

    device: int
    span_ns: int
    kernel_ns: int
    busy_ns: int
    sm_efficiency: float | None
    plugin_occupancy: float | None
    occupancy: float | None
    kernels_ns: int
    tensor_ns: int
    plugin_tensor_ns: int


@frozen
class GpuUse:
    """Use of GPUs in `steps`. devices: by number. has_steps: whether steps were found."""

    steps: PluginSteps
    has_steps: bool
    devices: Sequence[DeviceUse]
    parts: StepUse
