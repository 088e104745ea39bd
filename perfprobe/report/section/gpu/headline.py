"""The summary line: whether the program waits for the GPU, or the GPU for the program."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.gpu.devices import device_rows
from perfprobe.report.rows.gpu.launch_cost import launch_cost
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.gpu.kernels import hottest_kernel
from perfprobe.report.section.gpu.verdict import Use, verdict
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import GpuFindings

_LOST = "records of its work are lost, so the bottleneck is unknown"
_LARGE_GRAPH = 1000
_LOSSES = ("dropped_records", "refused_buffers", "lent_buffers")


def headline(findings: Findings) -> Iterator[Block]:
    """The busy share of the busiest GPU, and what follows from it; nothing without a GPU or with a focus."""
    gpu, wall_ns = findings.get(GpuFindings), findings.wall_ns
    if gpu is None or not wall_ns or findings.focus is not None:
        return
    rows = device_rows(findings)
    busiest = max(rows, key=lambda row: -1 if row.busy_ns is None else row.busy_ns, default=None)
    if busiest is None or busiest.busy_ns is None:
        return
    recording, use = findings.trace.recording, Use.of(busiest)
    several = f", the busiest of {len(rows)}," if len(rows) > 1 else ""
    lost = any((recording.number("gpu", name) or 0) > 0 for name in _LOSSES)
    least = "at least " if gpu.untimed > 0 or lost else ""
    share, used = units.percent(busiest.busy_ns / wall_ns), units.percent(use.busy)
    name = f"GPU {-1 if busiest.device is None else busiest.device}{several}"
    parts = f" ({use.parts()})" if use.parts() else ""
    said = f"{name} was busy for {least}{share} of wall, {used} of the time from its first to its last work"
    judged = _LOST if lost else verdict(gpu, use, wall_ns)
    cost = "" if use.hardly_idle else _recording_cost(findings)
    yield Paragraph(f"{said}{parts}: {judged}.{cost}", "bold")
    yield from hottest_kernel(findings)


def _recording_cost(findings: Findings) -> str:
    """What recording added to calls of CUDA, which may make a GPU wait; "" if not known."""
    cost = launch_cost(findings)
    if cost is None:
        return ""
    nodes = findings.trace.recording.number("gpu", "most_nodes") or 0
    large = (
        f" Graphs launch up to {units.count(int(nodes))} kernels: --gpu-graphs launch costs less."
        if nodes > _LARGE_GRAPH
        else ""
    )
    return f" Recording made its {units.count(cost.calls)} calls of CUDA slower ({cost.text()}).{large}"
