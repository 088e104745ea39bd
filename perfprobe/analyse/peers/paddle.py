"""The model's phases and the types of events, as Paddle's profiler counts them."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.devices import union_ns
from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.peers.on_gpu import OnGpu
from perfprobe.tables.columns import Int64
from perfprobe.tables.intervals import around
from perfprobe.tables.peers import ON_GPU, PeerPhase, PeerPhases, PeerSteps, PeerType, PeerTypes
from perfprobe.tables.steps import EventKind, StepEvents

PHASES = {
    EventKind.NEXT: PeerPhase.DATALOADER,
    EventKind.CALL: PeerPhase.FORWARD,
    EventKind.BACKWARD: PeerPhase.BACKWARD,
    EventKind.OPTIMIZER: PeerPhase.OPTIMIZATION,
}


def outermost_events(events: StepEvents) -> StepEvents:
    """The events without nested ones, such as calls in an optimizer's closure, ordered by start."""
    order = np.lexsort((-events.end_ns, events.start_ns))
    events = events.take(order)
    if len(events) == 0:
        return events
    before_ns = np.append(np.int64(-1), np.maximum.accumulate(events.end_ns)[:-1])
    return events.take(events.end_ns > before_ns)


def phases_of(steps: PeerSteps, events: StepEvents, gpu: OnGpu | None) -> PeerPhases:
    """A row for the steps and for each phase that occurred."""
    events = outermost_events(events)
    rows = [_phase(PeerPhase.PROFILE_STEP, steps.start_ns, steps.end_ns, gpu)]
    for kind, phase in PHASES.items():
        own = events.take(events.kind == kind)
        if len(own):
            rows.append(_phase(phase, own.start_ns, own.end_ns, gpu))
    return PeerPhases.concat(rows)


def _phase(phase: PeerPhase, start_ns: Int64, end_ns: Int64, gpu: OnGpu | None) -> PeerPhases:
    """The row of a phase. Its intervals must be in order and must not overlap."""
    took_ns, on_gpu_ns = end_ns - start_ns, launched_ns(start_ns, end_ns, gpu)
    values = {
        "phase": phase,
        "calls": len(took_ns),
        "total_ns": took_ns.sum(),
        "least_ns": took_ns.min(),
        "most_ns": took_ns.max(),
        "gpu_ns": -1 if on_gpu_ns is None else on_gpu_ns.sum(),
        "gpu_least_ns": -1 if on_gpu_ns is None else on_gpu_ns.min(),
        "gpu_most_ns": -1 if on_gpu_ns is None else on_gpu_ns.max(),
    }
    return PeerPhases(**{name: np.array([values[name]], dtype) for name, dtype in PeerPhases.dtypes.items()})


def launched_ns(start_ns: Int64, end_ns: Int64, gpu: OnGpu | None) -> Int64 | None:
    """The summed duration on GPUs of the work launched in each interval; None without a GPU."""
    if gpu is None:
        return None
    at = around(start_ns, end_ns, gpu.begun_ns)
    found = np.zeros(len(start_ns), np.int64)
    np.add.at(found, at[at >= 0], gpu.took_ns[at >= 0])
    return found


def types_of(
    steps: PeerSteps,
    phases: PeerPhases,
    host: dict[PeerType, tuple[int, Int64, Int64]],
    gpu: OnGpu | None,
) -> PeerTypes:
    """A row for each type that occurred. host: for each type its count, and starts and ends of its time."""
    rows = [
        (int(phase), int(calls), int(total_ns))
        for phase, calls, total_ns in zip(
            phases.phase.tolist(), phases.calls.tolist(), phases.total_ns.tolist(), strict=True
        )
    ]
    rows += [(int(kind), calls, _open_ns(steps, *spans)) for kind, (calls, *spans) in host.items() if calls]
    if gpu is not None:
        rows += _of_gpu(steps, gpu)
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return PeerTypes(columns[0].astype(np.int8), columns[1], columns[2])


def _of_gpu(steps: PeerSteps, gpu: OnGpu) -> list[tuple[int, int, int]]:
    """The types of GPU work, and calls of CUDA: type, count, time. Kernels that communicate count twice."""
    is_launched = around(steps.start_ns, steps.end_ns, gpu.begun_ns) >= 0
    of = dict(zip(ON_GPU, gpu.of, strict=True))
    of[PeerType.KERNEL] = of[PeerType.KERNEL] | of[PeerType.COMMUNICATION]
    found = []
    for kind, mask in of.items():
        chosen = mask & is_launched
        if bool(chosen.any()):
            took_ns = union_ns(gpu.start_ns[chosen], gpu.end_ns[chosen])
            found.append((int(kind), int(np.count_nonzero(chosen)), took_ns))
    called = around(steps.start_ns, steps.end_ns, gpu.api_start_ns) >= 0
    if bool(called.any()):
        took_ns = union_ns(gpu.api_start_ns[called], gpu.api_end_ns[called])
        found.append((int(PeerType.CUDA_RUNTIME), int(np.count_nonzero(called)), took_ns))
    return found


def _open_ns(steps: PeerSteps, start_ns: Int64, end_ns: Int64) -> int:
    return int(Covered(start_ns, end_ns).within(steps.start_ns, steps.end_ns).sum())
