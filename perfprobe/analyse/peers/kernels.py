"""Kernels and communication of the steps, as Paddle's profiler counts them.

Source: python/paddle/profiler/profiler_statistic.py, `add_kernel_item` and `DistributedSummary`.
"""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.peers.on_gpu import OnGpu
from perfprobe.tables.columns import Int64
from perfprobe.tables.intervals import around
from perfprobe.tables.peers import ON_GPU, Distribution, PeerKernels, PeerSteps, PeerType


def kernels_of(steps: PeerSteps, gpu: OnGpu | None) -> PeerKernels:
    """The kernels launched in the steps, by name, most time first. Without known launches: those that ran."""
    if gpu is None:
        return PeerKernels.empty()
    begun_ns = np.where(gpu.begun_ns >= 0, gpu.begun_ns, gpu.start_ns)
    rows = np.flatnonzero((gpu.name >= 0) & (around(steps.start_ns, steps.end_ns, begun_ns) >= 0))
    if len(rows) == 0:
        return PeerKernels.empty()
    order, first = sort_by_keys([gpu.name[rows]])
    took_ns = gpu.took_ns[rows][order]
    found = PeerKernels(
        name=gpu.name[rows][order[first]],
        calls=np.diff(np.append(first, len(order))).astype(np.int64),
        total_ns=np.add.reduceat(took_ns, first),
        least_ns=np.minimum.reduceat(took_ns, first),
        most_ns=np.maximum.reduceat(took_ns, first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))


def distribution_of(steps: PeerSteps, host: tuple[Int64, Int64], gpu: OnGpu | None) -> Distribution | None:
    """Communication and computing in the steps; None if nothing communicated. host: collectives."""
    if gpu is None:
        return None
    spans = {kind: gpu.of_type(ON_GPU.index(kind)) for kind in (PeerType.KERNEL, PeerType.COMMUNICATION)}
    sent = [np.append(*both) for both in zip(host, spans[PeerType.COMMUNICATION], strict=True)]
    if len(sent[0]) == 0:
        return None
    computed = spans[PeerType.KERNEL]
    each = _within(steps, *sent), _within(steps, *computed)
    both = _within(steps, *(np.append(*pair) for pair in zip(sent, computed, strict=True)))
    return Distribution(*each, overlap_ns=sum(each) - both)


def _within(steps: PeerSteps, start_ns: Int64, end_ns: Int64) -> int:
    return int(Covered(start_ns, end_ns).within(steps.start_ns, steps.end_ns).sum())
