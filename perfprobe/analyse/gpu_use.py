"""How well each GPU was used, by the TensorBoard plugin's definitions, and what GPUs did in each step.

Source of the definitions: torch_tb_profiler 0.4.3, profiler/gpu_metrics_parser.py and tensor_cores_parser.py.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.devices import duration_ns
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.unrecorded import outside_windows
from perfprobe.analyse.peers.on_gpu import OnGpu, on_gpu
from perfprobe.analyse.peers.plugin_steps import host_steps, with_gpu
from perfprobe.models.launch_sizes import Floats, LaunchSizes, sizes_of
from perfprobe.models.tensor_cores import in_plugin_list, uses_tensor_cores
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.gpu import Kernels
from perfprobe.tables.gpu_use import DeviceUse, GpuUse, PluginSteps, StepMarks, StepUse
from perfprobe.tables.peers import ON_GPU, PeerType
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_OURS = ((PeerType.KERNEL,), (PeerType.COMMUNICATION,), (PeerType.MEMCPY, PeerType.MEMSET))


def gpu_use(trace: Trace, marks: StepMarks, times: StepTimes) -> GpuUse | None:
    """Returns the use of each GPU; None without a GPU or without operators, as then there is no time span."""
    gpu = on_gpu(trace)
    steps, has_steps = host_steps(trace, marks, times)
    if gpu is None or len(gpu.device) == 0 or len(steps) == 0:
        return None
    steps = with_gpu(steps, gpu, trace)
    kernels = _kernels(trace)
    span_ns = _span_ns(trace, steps)
    devices = [_device(number, span_ns, steps, gpu, kernels) for number in distinct(kernels.device).tolist()]
    return GpuUse(steps, has_steps, devices, _parts(steps, gpu))


@frozen
class _Kernels:
    """The kernels that have times. in_operator: whether an operator launched them."""

    device: Int32
    start_ns: Int64
    end_ns: Int64
    sizes: LaunchSizes
    in_operator: Mask
    tensor: Mask
    plugin_tensor: Mask

    def of(self, device: int) -> Rows:
        return np.flatnonzero(self.device == device)


def _kernels(trace: Trace) -> _Kernels:
    kernels, links, strings = trace.recording[Kernels], trace.gpu, trace.recording[Strings]
    assert links is not None
    timed = np.flatnonzero(duration_ns(kernels) >= 0)
    names = kernels.name[timed]
    return _Kernels(
        device=kernels.device[timed],
        start_ns=kernels.start_ns[timed],
        end_ns=kernels.end_ns[timed],
        sizes=sizes_of(trace.recording, kernels.take(timed)),
        in_operator=np.append(links.sites.name >= 0, False)[links.kernel_call][timed],
        tensor=strings.marks(uses_tensor_cores)[names],
        plugin_tensor=strings.marks(in_plugin_list)[names],
    )


def _span_ns(trace: Trace, steps: PluginSteps) -> int:
    """Time from the first step to the last, without that between windows: GPUs were not recorded then."""
    outside_ns = outside_windows(trace.recording).within(steps.start_ns[:1], steps.end_ns[-1:])
    return int(steps.end_ns[-1] - steps.start_ns[0] - outside_ns[0])


def _device(device: int, span_ns: int, steps: PluginSteps, gpu: OnGpu, kernels: _Kernels) -> DeviceUse:
    first_ns, last_ns = int(steps.start_ns[0]), int(steps.end_ns[-1])
    rows, all_work = kernels.of(device), gpu.device == device
    start_ns, end_ns = kernels.start_ns[rows], kernels.end_ns[rows]
    within_ns = np.minimum(end_ns, last_ns) - np.maximum(start_ns, first_ns)
    own_ns = (end_ns - start_ns) * kernels.in_operator[rows]
    sizes = kernels.sizes.take(rows)
    return DeviceUse(
        device=device,
        span_ns=span_ns,
        kernel_ns=_within(start_ns, end_ns, first_ns, last_ns),
        busy_ns=_within(gpu.start_ns[all_work], gpu.end_ns[all_work], first_ns, last_ns),
        sm_efficiency=_sm_efficiency(start_ns, end_ns, sizes.blocks_per_sm, first_ns, last_ns, span_ns),
        plugin_occupancy=_mean(sizes.plugin_occupancy, within_ns),
        occupancy=_mean(sizes.occupancy, within_ns),
        kernels_ns=int(own_ns.sum()),
        tensor_ns=int(own_ns[kernels.tensor[rows]].sum()),
        plugin_tensor_ns=int(own_ns[kernels.plugin_tensor[rows]].sum()),
    )


def _within(start_ns: Int64, end_ns: Int64, first_ns: int, last_ns: int) -> int:
    span = np.array([first_ns], np.int64), np.array([last_ns], np.int64)
    return int(Covered(start_ns, end_ns).within(*span)[0])


def _sm_efficiency(
    start_ns: Int64, end_ns: Int64, blocks: Floats, first_ns: int, last_ns: int, span_ns: int
) -> float | None:
    """The mean over the span of the running kernels' blocks per multiprocessor, each moment at most 1."""
    known = (blocks > 0) & (end_ns > first_ns) & (start_ns < last_ns)
    if not known.any() or span_ns <= 0:
        return None
    start_ns, end_ns = np.maximum(start_ns[known], first_ns), np.minimum(end_ns[known], last_ns)
    time_ns = np.append(start_ns, end_ns)
    order = np.argsort(time_ns, kind="stable")
    at_work = np.cumsum(np.append(blocks[known], -blocks[known])[order])[:-1]
    efficiency = np.where(at_work > 0, np.minimum(at_work, 1.0), 0.0)
    return float((efficiency * np.diff(time_ns[order])).sum() / span_ns)


def _mean(values: Floats, weight_ns: Int64) -> float | None:
    """The weighted mean of the known values; None if there are none."""
    known = ~np.isnan(values) & (weight_ns > 0)
    return float(np.average(values[known], weights=weight_ns[known])) if known.any() else None


def _parts(steps: PluginSteps, gpu: OnGpu) -> StepUse:
    """Divides each step into computing, communication, copying and idle time, which sum to the step."""
    start_ns = end_ns = np.empty(0, np.int64)
    had_ns, parts = np.zeros(len(steps), np.int64), []
    for kinds in _OURS:
        spans = [gpu.of_type(ON_GPU.index(kind)) for kind in kinds]
        start_ns = np.concatenate([start_ns, *(start for start, _ in spans)])
        end_ns = np.concatenate([end_ns, *(end for _, end in spans)])
        covered_ns = Covered(start_ns, end_ns).within(steps.start_ns, steps.end_ns)
        parts.append(covered_ns - had_ns)
        had_ns = covered_ns
    computing_ns, communication_ns, copying_ns = parts
    return StepUse(
        step=np.arange(len(steps), dtype=np.int32),
        computing_ns=computing_ns,
        communication_ns=communication_ns,
        copying_ns=copying_ns,
        idle_ns=steps.end_ns - steps.start_ns - had_ns,
    )
