"""The counters of each GPU, what a training step takes of them, and what the calls of CUDA's API cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import RenderableType

from perfprobe.report import columns
from perfprobe.report.base import Layout
from perfprobe.report.cells import counts, durations, percents
from perfprobe.report.columns import Column
from perfprobe.report.gpu.cells import mean_ns, ranked, sorted_by
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_findings import DeviceRows, GpuFindings, LaunchRows
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

TOP_CALLS = 5
_LONGEST_NAME = 40


def devices(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """A row for each GPU, and a line for the median step; nothing where nothing ran on any."""
    gpu = findings.gpu
    assert gpu is not None
    rows = gpu.devices
    if len(rows) == 0:
        return
    yield heading("GPUs", "busy: at least one kernel or copy ran", layout.width)
    yield columns.table(columns.fit(_columns(findings, rows), layout.width))
    for text in filter(None, (median_step(gpu), _untimed(gpu))):
        yield paragraph(text, layout.width, "dim")


def device_name(recording: Recording, device: int) -> str:
    """What the driver calls it, "" where that is not known."""
    known = recording.fact("gpu", "devices")
    entry = known[device] if isinstance(known, list) and 0 <= device < len(known) else None
    name = entry.get("name") if isinstance(entry, dict) else entry
    return cut(printable(name), _LONGEST_NAME) if isinstance(name, str) else ""


def _columns(findings: Findings, rows: DeviceRows) -> list[Column]:
    recording, wall_ns = findings.trace.recording, findings.wall_ns
    names = [device_name(recording, device) for device in rows.device.tolist()]
    numbers = [str(device) if device >= 0 else units.ABSENT for device in rows.device.tolist()]
    span_ns = np.where(rows.first_ns >= 0, rows.last_ns - rows.first_ns, -1)
    sizes = [units.size(value) for value in rows.copied_bytes.tolist()]
    return [
        Column("GPU", numbers, align="right", style="bold"),
        *([Column("busy of wall", percents(rows.busy_ns, wall_ns), align="right")] if wall_ns else []),
        Column("busy", durations(rows.busy_ns), 1, align="right"),
        Column("first to last", durations(span_ns), 4, align="right"),
        Column("kernels", counts(rows.kernels), 1, align="right"),
        Column("kernel time", durations(rows.kernel_ns), 2, align="right"),
        Column("copies", counts(rows.copies), 3, align="right"),
        Column("copy time", durations(rows.copy_ns), 5, align="right"),
        Column("copied", sizes, 3, align="right"),
        Column("streams", counts(rows.streams), 6, align="right"),
        *([Column("model", names, 7)] if any(names) else []),
    ]


def median_step(gpu: GpuFindings) -> str:
    """What the median step takes, figure by figure; "" without steps."""
    if len(gpu.steps) == 0:
        return ""
    duration = units.duration(_median(gpu.steps.end_ns - gpu.steps.start_ns))
    figures = {name: _of_each_step(gpu, name) for name in gpu.step_counts.dtypes if name != "step"}
    median = {name: _median(values) for name, values in figures.items()}

    def said(one: str, many: str, time: str) -> str:
        number = median[many]
        return f"{units.count(number)} {one if number == 1 else many} taking {units.duration(median[time])}"

    steps = "A step" if len(gpu.steps) == 1 else f"Median of {len(gpu.steps):,} steps"
    waits = f", {said('wait', 'waits', 'wait_ns')}" if median["waits"] else ""
    return (
        f"{steps}: {duration}; {said('kernel', 'kernels', 'kernel_ns')}, "
        f"{said('copy', 'copies', 'copy_ns')} ({units.size(median['copied_bytes'])}){waits}."
    )


def _of_each_step(gpu: GpuFindings, name: str) -> Int64:
    """Of a step without a row it is 0."""
    values = np.zeros(len(gpu.steps), np.int64)
    inside = (gpu.step_counts.step >= 0) & (gpu.step_counts.step < len(values))
    values[gpu.step_counts.step[inside]] = getattr(gpu.step_counts, name)[inside]
    return values


def _median(values: Int64) -> int | None:
    known = np.sort(values[values >= 0])
    return int(known[(len(known) - 1) // 2]) if len(known) else None


def _untimed(gpu: GpuFindings) -> str:
    if gpu.untimed <= 0:
        return ""
    return f"Times and busy shares lack {units.count(gpu.untimed)} kernels and copies without times."


def calls(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table of calls of CUDA's API by name: what launches cost the program."""
    gpu = findings.gpu
    assert gpu is not None
    rows = gpu.calls
    if len(rows) == 0 or findings.focus is not None:
        return
    shown = ranked(rows, rows.total_ns, rows.calls, layout, TOP_CALLS)
    whole = f"{units.count(int(rows.calls.sum()))} calls, {units.duration(int(rows.total_ns.sum()))}"
    some = f"{len(shown)} of {len(rows)}" if len(shown) < len(rows) else f"{len(rows)}"
    yield heading(
        "CUDA calls", f"{some} functions by {sorted_by(layout, 'calls')}; in all {whole}", layout.width
    )
    yield columns.table(columns.fit(_call_columns(findings.trace, shown), layout.width))


def _call_columns(trace: Trace, shown: LaunchRows) -> list[Column]:
    strings = trace.recording[Strings]
    names = [printable(strings[name]) if name >= 0 else "(unknown)" for name in shown.name.tolist()]
    failed = [units.count(number) if number else "" for number in shown.failed.tolist()]
    return [
        Column("total", durations(shown.total_ns), align="right"),
        Column("calls", counts(shown.calls), 1, align="right"),
        Column("mean", durations(mean_ns(shown.total_ns, shown.calls)), 2, align="right"),
        Column("longest", durations(shown.longest_ns), 4, align="right"),
        *([Column("failed", failed, 2, align="right")] if any(failed) else []),
        Column("call", names, least=20, style="bold"),
    ]
