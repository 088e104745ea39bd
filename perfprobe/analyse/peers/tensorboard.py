"""The TensorBoard plugin's breakdown of steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.peers.on_gpu import OnGpu
from perfprobe.analyse.peers.paddle import within
from perfprobe.tables.columns import Int64
from perfprobe.tables.peers import PeerSteps, Role, StepRoles

_OF_GPU = (Role.KERNEL, Role.MEMCPY, Role.MEMSET, Role.COMMUNICATION)


def roles_of(steps: PeerSteps, host: Mapping[Role, tuple[Int64, Int64]], gpu: OnGpu | None) -> StepRoles:
    """The time of each role in each step, without time of earlier roles.

    host: when data loading and operators were at work, on any thread.
    """
    spans = dict(host)
    if gpu is not None:
        steps = _to_last_on_gpu(steps, gpu)
        spans |= {role: gpu.of_type(at) for at, role in enumerate(_OF_GPU)}
        spans[Role.RUNTIME] = (gpu.api_start_ns, gpu.api_end_ns)
    start_ns = end_ns = np.empty(0, np.int64)
    had_ns = np.zeros(len(steps), np.int64)
    parts = []
    for role in Role:
        own = spans.get(role)
        if role is Role.OTHER:
            covered_ns = steps.end_ns - steps.start_ns
        elif own is None or len(own[0]) == 0:
            continue
        else:
            start_ns, end_ns = np.append(start_ns, own[0]), np.append(end_ns, own[1])
            covered_ns = Covered(start_ns, end_ns).within(steps.start_ns, steps.end_ns)
        parts.append(_rows(role, covered_ns - had_ns))
        had_ns = covered_ns
    return StepRoles.concat(parts)


def _rows(role: Role, time_ns: Int64) -> StepRoles:
    steps = np.arange(len(time_ns), dtype=np.int32)
    return StepRoles(steps, np.full(len(time_ns), role, np.int8), time_ns)


def _to_last_on_gpu(steps: PeerSteps, gpu: OnGpu) -> PeerSteps:
    """Each step up to the end of the last that was launched in it, the next one from there on."""
    at, inside = within(steps.start_ns, steps.end_ns, gpu.begun_ns)
    last_ns = steps.end_ns.copy()
    np.maximum.at(last_ns, at[inside], gpu.end_ns[inside])
    last_ns = np.maximum.accumulate(last_ns)
    before_ns = np.append(np.int64(-1), last_ns[:-1])
    return PeerSteps(steps.step, np.maximum(steps.start_ns, before_ns), last_ns)
