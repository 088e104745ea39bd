"""The line for someone in a hurry: whether the GPU is what the program waits for, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import RenderableType

from perfprobe.report.base import Layout
from perfprobe.report.gpu.kernels import hottest_kernel
from perfprobe.report.gpu.waits import program_waited_ns
from perfprobe.report.paragraph import paragraph
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

_HARDLY_IDLE = 0.9  # of the time from its first to its last work
_HALF = 0.5
_NOTEWORTHY = 0.05  # of the wall time
_LOST = "records of its work are lost, so what limits the program is open"


def headline(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """Busy share of the busiest GPU, and what follows; nothing without one, or for a part of the rows."""
    gpu, wall_ns = findings.gpu, findings.wall_ns
    if gpu is None or len(gpu.devices) == 0 or not wall_ns or findings.focus is not None:
        return
    at = int(np.argmax(gpu.devices.busy_ns))
    busy_ns = int(gpu.devices.busy_ns[at])
    if busy_ns < 0:
        return
    span_ns = max(int(gpu.devices.last_ns[at] - gpu.devices.first_ns[at]), 1)
    several = f", the busiest of {len(gpu.devices)}," if len(gpu.devices) > 1 else ""
    lost = findings.trace.recording.number("gpu", "dropped_records") or 0
    least = "at least " if gpu.untimed > 0 or lost > 0 else ""
    share, used = (units.percent(min(busy_ns / whole_ns, 1)) for whole_ns in (wall_ns, span_ns))
    name = f"GPU {int(gpu.devices.device[at])}{several}"
    said = f"{name} was busy for {least}{share} of wall, {used} of the time from its first to its last work"
    verdict = _LOST if lost > 0 else _verdict(gpu, busy_ns, span_ns, wall_ns)
    yield paragraph(f"{said}: {verdict}.", layout.width, "bold")
    yield from hottest_kernel(findings, layout)


def _verdict(gpu: GpuFindings, busy_ns: int, span_ns: int, wall_ns: int) -> str:
    """Judged by the time in which the program used it, without start and end. Without all times: open."""
    if gpu.untimed > 0:
        return "some of its work has no times, so what limits the program is open"
    if span_ns < _HALF * wall_ns:
        return f"that is only {units.percent(span_ns / wall_ns)} of wall, in the rest it was not used"
    used = busy_ns / span_ns
    if used >= _HARDLY_IDLE:
        return "there the GPU is the bottleneck"
    if used >= _HALF:
        return f"for the other {units.percent(1 - used)} it waited for the program, so both are a bottleneck"
    waited = program_waited_ns(gpu.waits) / wall_ns
    if waited < _NOTEWORTHY:
        return "mostly it waited for the program, which is the bottleneck"
    return (
        "mostly it waited for the program, which is the bottleneck, though that stood still for the GPU for "
        f"{units.percent(waited)} of wall"
    )
