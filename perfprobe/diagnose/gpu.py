"""Rule: whether computing, copying, communication or the program is the limit, by the busiest GPU."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import DeviceRows, GpuFindings
from perfprobe.tables.gpu_verdict import GpuLimit, GpuVerdict
from perfprobe.tables.recording import Recording

_HARDLY_IDLE = 0.9  # a GPU is hardly idle if busy for this share of the time from first to last work
_HALF = 0.5
_NOTEWORTHY = 0.05
_LARGE_GRAPH = 1000  # kernels
_LOST = ("dropped_records", "refused_buffers", "lent_buffers")


class Use(NamedTuple):
    """What a GPU did, as shares of the time from first to last work. busy: any of the three."""

    busy: float
    computing: float
    communication: float
    copying: float

    @classmethod
    def of(cls, rows: DeviceRows, at: int, span_ns: int) -> Use:
        """The shares of a row."""
        columns = (rows.busy_ns, rows.computing_ns, rows.communication_ns, rows.copying_ns)
        return cls(*(max(int(column[at]), 0) / span_ns for column in columns))


def gpu_verdict(findings: Findings) -> GpuVerdict | None:
    """The verdict; None if no GPU is known to have been busy."""
    gpu, wall_ns = findings.get(GpuFindings), findings.wall_ns
    if gpu is None or not wall_ns or len(gpu.devices) == 0:
        return None
    rows = gpu.devices
    at = int(rows.busy_ns.argmax())
    if rows.busy_ns[at] < 0:
        return None
    first_ns, last_ns = int(rows.first_ns[at]), int(rows.last_ns[at])
    span_ns = max(last_ns - first_ns if min(first_ns, last_ns) >= 0 else 0, 1)
    use = Use.of(rows, at, span_ns)
    recording, device = findings.trace.recording, int(rows.device[at])
    nodes = int(recording.number("gpu", "most_nodes") or 0)
    return GpuVerdict(
        limit=GpuLimit.LOST if _is_lost(recording) else limit(gpu, use, span_ns, wall_ns),
        device=device if device >= 0 else None,
        busy_ns=int(rows.busy_ns[at]),
        span_ns=span_ns,
        **use._asdict(),
        is_shared=use.computing >= max(use.copying, use.communication),
        hardly_idle=use.busy >= _HARDLY_IDLE,
        is_bound=_is_bound(gpu, use, span_ns, wall_ns),
        waited_ns=gpu.program_waited_ns,
        most_nodes=nodes if nodes > _LARGE_GRAPH else 0,
    )


def limit(gpu: GpuFindings, use: Use, span_ns: int, wall_ns: int) -> GpuLimit:
    """What limits the program, judged from the GPU's first work to its last."""
    if gpu.untimed > 0:
        return GpuLimit.UNTIMED
    if span_ns < _HALF * wall_ns:
        return GpuLimit.SELDOM_USED
    if use.busy >= _HALF and use.computing < min(use.busy, _HARDLY_IDLE) - _NOTEWORTHY:
        return GpuLimit.COPYING if use.copying >= use.communication else GpuLimit.COMMUNICATION
    if use.busy >= _HARDLY_IDLE:
        return GpuLimit.COMPUTING
    return GpuLimit.BOTH if use.busy >= _HALF else GpuLimit.PROGRAM


def _is_bound(gpu: GpuFindings, use: Use, span_ns: int, wall_ns: int) -> bool:
    """Whether it was busy computing nearly all the time, for most of the run."""
    in_most = gpu.untimed == 0 and span_ns >= _HALF * wall_ns
    return in_most and use.busy >= _HARDLY_IDLE and use.computing >= _HARDLY_IDLE - _NOTEWORTHY


def _is_lost(recording: Recording) -> bool:
    return any((recording.number("gpu", name) or 0) > 0 for name in _LOST)
