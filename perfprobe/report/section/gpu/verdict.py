"""Decides whether computing, copying, NCCL or the program is the limit, by the busiest GPU."""

from __future__ import annotations

from perfprobe.report.rows.gpu.devices import DeviceRow
from perfprobe.report.rows.gpu.waits import program_waited_ns
from perfprobe.support import units
from perfprobe.support.frozen import frozen
from perfprobe.tables.gpu_findings import GpuFindings

_HARDLY_IDLE = 0.9  # a GPU is hardly idle if busy for this share of the time from first to last work
_HALF = 0.5
_NOTEWORTHY = 0.05


@frozen
class Use:
    """What a GPU did, as shares of the time from its first to its last work. busy: any of the three."""

    span_ns: int
    busy: float
    computing: float
    nccl: float
    copying: float

    @classmethod
    def of(cls, row: DeviceRow) -> Use:
        """The shares of a device."""
        span_ns = max(row.span_ns or 0, 1)
        parts = (row.busy_ns, row.computing_ns, row.nccl_ns, row.copying_ns)
        return cls(span_ns, *((time_ns or 0) / span_ns for time_ns in parts))

    @property
    def hardly_idle(self) -> bool:
        """Whether it was busy nearly all the time."""
        return self.busy >= _HARDLY_IDLE

    def parts(self) -> str:
        """The shares of copying and NCCL in words; "" if it only computed."""
        if max(self.nccl, self.copying) < _NOTEWORTHY:
            return ""
        named = (("computing", self.computing), ("NCCL", self.nccl), ("copying", self.copying))
        return ", ".join(f"{name} {units.percent(share)}" for name, share in named if share > 0)


def verdict(gpu: GpuFindings, use: Use, wall_ns: int) -> str:
    """Returns what limits the program, judged from the GPU's first work to its last; open if times are
    missing.
    """
    if gpu.untimed > 0:
        return "some of its work has no times, so the bottleneck is unknown"
    if use.span_ns < _HALF * wall_ns:
        return f"that is only {units.percent(use.span_ns / wall_ns)} of wall; it was not used in the rest"
    if use.busy >= _HALF and use.computing < min(use.busy, _HARDLY_IDLE) - _NOTEWORTHY:
        return _not_computing(use)
    if use.hardly_idle:
        return "there the GPU is the bottleneck"
    if use.busy >= _HALF:
        return (
            f"for the other {units.percent(1 - use.busy)} it waited for the program, so both are a bottleneck"
        )
    return "mostly it waited for the program, which is the bottleneck" + _waited(gpu, wall_ns)


def is_limit(gpu: GpuFindings, use: Use, wall_ns: int) -> bool:
    """Whether it was busy computing nearly all the time, for most of the run."""
    in_most = gpu.untimed == 0 and use.span_ns >= _HALF * wall_ns
    return in_most and use.hardly_idle and use.computing >= _HARDLY_IDLE - _NOTEWORTHY


def _not_computing(use: Use) -> str:
    """The verdict for a GPU that copies, or waits for others in NCCL's kernels, for much of the time."""
    copies = use.copying >= use.nccl
    limit = "copying" if copies else "NCCL (its kernels run while they wait for other GPUs too)"
    idle = (
        "" if use.hardly_idle else f"; for the other {units.percent(1 - use.busy)} it waited for the program"
    )
    computing = f"it computed for {units.percent(use.computing)}"
    if use.computing < max(use.copying, use.nccl):
        return f"{computing} only, so {limit} is the bottleneck{idle}"
    return f"{computing}, and {limit} took time of its own, so both are a bottleneck{idle}"


def _waited(gpu: GpuFindings, wall_ns: int) -> str:
    waited = program_waited_ns(gpu) / wall_ns
    if waited < _NOTEWORTHY:
        return ""
    return f", but the program waited for the GPU for {units.percent(waited)} of wall"
