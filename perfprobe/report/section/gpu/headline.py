"""The summary line: whether the program waits for the GPU, or the GPU for the program."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.gpu.launch_cost import launch_cost
from perfprobe.report.rows.named import is_named
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.gpu.kernels import hottest_kernel
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_verdict import GpuLimit, GpuVerdict

_LIMITS = {
    GpuLimit.LOST: "records of its work are lost, so the bottleneck is unknown",
    GpuLimit.UNTIMED: "some of its work has no times, so the bottleneck is unknown",
    GpuLimit.COMPUTING: "there the GPU is the bottleneck",
}
_NOT_COMPUTING = {
    GpuLimit.COPYING: "copying",
    GpuLimit.COMMUNICATION: "communication (its kernels run while they wait for other GPUs too)",
}


def headline(findings: Findings) -> Iterator[Block]:
    """The busy share of the busiest GPU, and what follows from it; nothing without a GPU or with a focus."""
    found, wall_ns = findings.get(GpuVerdict), findings.wall_ns
    if found is None or not wall_ns or findings.focus is not None:
        return
    devices = len(findings[GpuFindings].devices)
    several = f", the busiest of {devices}," if devices > 1 else ""
    least = "at least " if found.limit in (GpuLimit.LOST, GpuLimit.UNTIMED) else ""
    share, used = units.percent(found.busy_ns / wall_ns), units.percent(found.busy)
    name = f"GPU {-1 if found.device is None else found.device}{several}"
    said = f"{name} was busy for {least}{share} of wall, {used} of the time from its first to its last work"
    cost = "" if found.hardly_idle else _recording_cost(findings, found)
    yield Paragraph(f"{said}{_parts(found)}: {verdict_text(found, wall_ns)}.{cost}", "bold")
    yield from hottest_kernel(findings)


def verdict_text(found: GpuVerdict, wall_ns: int) -> str:
    """Returns what limits the program, from the GPU's first work to its last."""
    if found.limit in _LIMITS:
        return _LIMITS[found.limit]
    other = f"for the other {units.percent(1 - found.busy)} it waited for the program"
    if found.limit is GpuLimit.SELDOM_USED:
        return f"that is only {units.percent(found.span_ns / wall_ns)} of wall; it was not used in the rest"
    if found.limit in _NOT_COMPUTING:
        rest = "" if found.hardly_idle else f"; {other}"
        return _not_computing(found, _NOT_COMPUTING[found.limit]) + rest
    if found.limit is GpuLimit.BOTH:
        return f"{other}, so both are a bottleneck"
    waited = found.waited_ns / wall_ns
    if is_hardly_known(found, wall_ns):
        return f"the program waited for it for {units.percent(waited)} of wall; little of its work is known"
    but = f", but the program waited for the GPU for {units.percent(waited)} of wall"
    return "mostly it waited for the program, which is the bottleneck" + (but if is_named(waited) else "")


def is_hardly_known(found: GpuVerdict, wall_ns: int) -> bool:
    """Whether the program waited for most of the time for work that is older than the trace, or of others."""
    return found.limit is GpuLimit.PROGRAM and 2 * found.waited_ns > wall_ns


def _not_computing(found: GpuVerdict, limit: str) -> str:
    """The text for a GPU that copies, or communicates and waits in that for others, for much of the time."""
    computing = f"it computed for {units.percent(found.computing)}"
    if found.is_shared:
        return f"{computing}, and {limit} took time of its own, so both are a bottleneck"
    return f"{computing} only, so {limit} is the bottleneck"


def _parts(found: GpuVerdict) -> str:
    """The shares of copying and communication; "" if it only computed."""
    if not is_named(max(found.communication, found.copying)):
        return ""
    named = (
        ("computing", found.computing),
        ("communication", found.communication),
        ("copying", found.copying),
    )
    return f" ({', '.join(f'{name} {units.percent(share)}' for name, share in named if share > 0)})"


def _recording_cost(findings: Findings, found: GpuVerdict) -> str:
    """What recording added to calls of CUDA, which may make a GPU wait; "" if not known."""
    cost = launch_cost(findings)
    if cost is None:
        return ""
    nodes = found.most_nodes
    large = f" Graphs launch up to {units.count(nodes)} kernels: --gpu-graphs launch costs less."
    calls = f" Recording made its {units.count(cost.calls)} calls of CUDA slower ({cost.text()})."
    return calls + (large if nodes else "")
