"""Rows of how well GPUs were used, and of what they did in each step."""

from __future__ import annotations

from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_use import DeviceUse, GpuUse, StepUse


@frozen(kw_only=True)
class UseRow:
    """A GPU during the steps; figures as in `DeviceUse`. Shares are from 0 to 1, None if not known.

    utilization: the share of the steps in which a kernel ran. busy: in which a kernel or a copy ran.
    tensor_cores: the share of kernels that use them in the time of kernels launched by operators, by our list
    of names. plugin_tensor_cores: the same by the TensorBoard plugin's list.
    """

    device: int
    span_ns: int
    utilization: float | None
    busy: float | None
    sm_efficiency: float | None
    plugin_occupancy: float | None
    occupancy: float | None
    plugin_tensor_cores: float | None
    tensor_cores: float | None


@frozen(kw_only=True)
class PartRow:
    """One kind of GPU use in a step; figures as in `StepUse`. step: its number, None for the average."""

    step: int | None
    part: str
    time_ns: float
    percentage: float


PARTS = {
    "computing": "computing_ns",
    "communication": "communication_ns",
    "copying": "copying_ns",
    "idle": "idle_ns",
}


def use_rows(findings: Findings) -> list[UseRow]:
    """All GPUs, by number."""
    return [_row(use) for use in findings[GpuUse].devices]


def _row(use: DeviceUse) -> UseRow:
    return UseRow(
        device=use.device,
        span_ns=use.span_ns,
        utilization=_share(use.kernel_ns, use.span_ns),
        busy=_share(use.busy_ns, use.span_ns),
        sm_efficiency=use.sm_efficiency,
        plugin_occupancy=use.plugin_occupancy,
        occupancy=use.occupancy,
        plugin_tensor_cores=_share(use.plugin_tensor_ns, use.kernels_ns),
        tensor_cores=_share(use.tensor_ns, use.kernels_ns),
    )


def _share(part_ns: int, whole_ns: int) -> float | None:
    return part_ns / whole_ns if whole_ns > 0 else None


def part_rows(findings: Findings) -> list[PartRow]:
    """The average of all steps, then step by step."""
    use = findings[GpuUse]
    numbers = [None if number < 0 else number for number in use.steps.number.tolist()]
    rows = [_part(None, title, _mean_ns(use.parts, name), use) for title, name in PARTS.items()]
    for at, number in enumerate(numbers if use.has_steps else ()):
        rows += [
            _part(number, title, float(getattr(use.parts, name)[at]), use, at)
            for title, name in PARTS.items()
        ]
    return rows


def _mean_ns(parts: StepUse, name: str) -> float:
    return float(getattr(parts, name).sum() / len(parts))


def _part(step: int | None, part: str, time_ns: float, use: GpuUse, at: int | None = None) -> PartRow:
    took_ns = use.steps.end_ns - use.steps.start_ns
    whole_ns = float(took_ns.mean() if at is None else took_ns[at])
    return PartRow(step=step, part=part, time_ns=time_ns, percentage=time_ns / max(whole_ns, 1.0))
