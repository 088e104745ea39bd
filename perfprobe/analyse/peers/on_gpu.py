"""GPU work by the types that other profilers use."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.devices import communicating, duration_ns
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.operator_rows import same_signatures
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, Kernels
from perfprobe.tables.peers import ON_GPU, PeerSteps, PeerType, RuntimeTimes
from perfprobe.tables.trace import Trace


@frozen
class OnGpu:
    """Kernels, then copies, that have a time.

    Attributes:
        name: of kernels, -1 for copies.
        begun_ns: when the call that launched each began, -1 if not known; called_ns: when that call ended.
        of: a mask for each type of `ON_GPU`, in that order.
        api_start_ns: starts of the calls of CUDA's API; api_end_ns: their ends.
    """

    name: Int32
    device: Int32
    start_ns: Int64
    end_ns: Int64
    begun_ns: Int64
    called_ns: Int64
    of: tuple[Mask, ...]
    api_start_ns: Int64
    api_end_ns: Int64

    @property
    def took_ns(self) -> Int64:
        """The duration of each."""
        return self.end_ns - self.start_ns

    def of_type(self, at: int) -> tuple[Int64, Int64]:
        """Returns starts and ends of the work of one type, an index of `ON_GPU`."""
        return self.start_ns[self.of[at]], self.end_ns[self.of[at]]


def on_gpu(trace: Trace) -> OnGpu | None:
    """Returns what ran on GPUs; None if no GPU was recorded."""
    links, recording = trace.gpu, trace.recording
    if links is None:
        return None
    kernels, copies, calls = recording[Kernels], recording[Copies], recording[ApiCalls]
    began_ns, ended_ns = (np.append(times, np.int64(-1)) for times in (calls.start_ns, calls.end_ns))
    call = np.append(links.kernel_call, links.copy_call)
    is_kernel = np.arange(len(kernels) + len(copies)) < len(kernels)
    is_sent = np.append(communicating(recording), np.zeros(len(copies), np.bool_))
    is_fill = np.append(np.zeros(len(kernels), np.bool_), copies.kind == CopyKind.FILL)
    timed = np.append(duration_ns(kernels), duration_ns(copies)) >= 0
    api = calls.take(duration_ns(calls) >= 0)
    types = (is_kernel & ~is_sent, ~is_kernel & ~is_fill, is_fill, is_sent)
    return OnGpu(
        name=np.append(kernels.name, np.full(len(copies), -1, np.int32))[timed],
        device=np.append(kernels.device, copies.device)[timed],
        start_ns=np.append(kernels.start_ns, copies.start_ns)[timed],
        end_ns=np.append(kernels.end_ns, copies.end_ns)[timed],
        begun_ns=began_ns[call][timed],
        called_ns=ended_ns[call][timed],
        of=tuple(each[timed] for each in types),
        api_start_ns=api.start_ns,
        api_end_ns=api.end_ns,
    )


def busy_ns(steps: PeerSteps, gpu: OnGpu | None) -> dict[int, int]:
    """Returns, for each GPU, how long in the steps at least one kernel ran."""
    if gpu is None:
        return {}
    is_kernel = gpu.of[ON_GPU.index(PeerType.KERNEL)] | gpu.of[ON_GPU.index(PeerType.COMMUNICATION)]
    found = {}
    for device in distinct(gpu.device).tolist():
        own = is_kernel & (gpu.device == device)
        covered_ns = Covered(gpu.start_ns[own], gpu.end_ns[own]).within(steps.start_ns, steps.end_ns)
        found[device] = int(covered_ns.sum())
    return found


def runtime_times(trace: Trace) -> RuntimeTimes:
    """Returns the times of CUDA calls by the operator that made them. Of nested calls the outer counts."""
    if trace.gpu is None:
        return RuntimeTimes.empty()
    calls, sites = trace.recording[ApiCalls], trace.gpu.sites
    rows = np.flatnonzero((sites.name >= 0) & (duration_ns(calls) >= 0))
    if len(rows) == 0:
        return RuntimeTimes.empty()
    rows = rows[np.lexsort((-calls.end_ns[rows], calls.start_ns[rows], calls.thread[rows]))]
    same = np.append(False, np.diff(calls.thread[rows]) == 0)
    rows = rows[~(same & (calls.end_ns[rows] <= np.append(np.int64(-1), calls.end_ns[rows][:-1])))]
    signature = same_signatures(trace)[sites.signature[rows]]
    order, first = sort_by_keys([sites.name[rows], signature])
    took_ns = (calls.end_ns - calls.start_ns)[rows]
    return RuntimeTimes(
        sites.name[rows][order[first]], signature[order[first]], np.add.reduceat(took_ns[order], first)
    )
