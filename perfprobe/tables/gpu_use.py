"""How well GPUs were used: by the definitions of the TensorBoard plugin, and by ours."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int32, Int64, Table, column


class PluginSteps(Table):
    """Steps as the TensorBoard plugin has them, in order.

    The ranges `ProfilerStep#N`; where a program set none, the steps that were found, or all operators as one.
    With a GPU each lasts to the end of the last kernel or copy launched in it, and the next one begins there.
    """

    number: Int32 = column("N, or which of the steps that were found; -1 where all operators are one")
    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")


@frozen
class StepMarks:
    """What `PluginSteps` are made of. ranges: `ProfilerStep#N`, as they were recorded, in no order.

    first_ns, last_ns: of all operators and of those ranges; last_ns is -1 without any.
    """

    ranges: PluginSteps
    first_ns: int
    last_ns: int


class StepUse(Table):
    """What GPUs did in each of `PluginSteps`: each moment counts once, for the first that was going on."""

    step: Int32 = column("which", PluginSteps)
    computing_ns: Int64 = column("in which a kernel ran, those of NCCL left out", combine=Combine.SUM)
    communication_ns: Int64 = column("in which else one of NCCL's ran", combine=Combine.SUM)
    copying_ns: Int64 = column("in which else a copy or a fill ran", combine=Combine.SUM)
    idle_ns: Int64 = column("in which nothing ran on any GPU", combine=Combine.SUM)


@frozen
class DeviceUse:
    """What a GPU did from the start of the first of `PluginSteps` to the end of the last, span_ns.

    kernel_ns: in which at least one kernel ran, so not copies. busy_ns: copies too. sm_efficiency: of 1,
    the share of multiprocessors that kernels had blocks for, over the span. plugin_occupancy: the mean over
    the time of kernels of Kineto's estimate, of 1; occupancy: of ours, which knows blocks of more than 48 KiB
    of shared memory. None where grid or device are not known.

    kernels_ns: the time of all kernels of the recording that operators launched; tensor_ns: of those with
    tensor cores, by our list; plugin_tensor_ns: by the plugin's.
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
    """steps: those that both tables are of. devices: by number. has_steps: whether there were any."""

    steps: PluginSteps
    has_steps: bool
    devices: Sequence[DeviceUse]
    parts: StepUse
