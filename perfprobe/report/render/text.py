"""The report as text: a list of sections, each drawn from the findings it requires."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.section.agreement import agreement
from perfprobe.report.section.base import Layout, Section
from perfprobe.report.section.between import between
from perfprobe.report.section.children import child_recordings
from perfprobe.report.section.efficiency import efficiency, efficiency_of
from perfprobe.report.section.environment import environment
from perfprobe.report.section.functions import functions
from perfprobe.report.section.gpu.copies import copies
from perfprobe.report.section.gpu.devices import calls, devices
from perfprobe.report.section.gpu.kernels import kernels
from perfprobe.report.section.gpu.waits import waits
from perfprobe.report.section.hot_lines import hot_lines
from perfprobe.report.section.hot_operators import hot_operators
from perfprobe.report.section.losses import losses
from perfprobe.report.section.ranges import ranges
from perfprobe.report.section.summary import summary
from perfprobe.tables.children import Children
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Between, Findings, HotLines, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.python import Calling
from perfprobe.tables.ranges import RangeRows

NARROWEST = 40

SECTIONS = (
    Section("summary", (), summary, (Hotspots, Calling, GpuFindings)),
    Section("hot operators", (Hotspots,), hot_operators),
    Section("efficiency", (Measurements,), efficiency),
    Section("hot lines", (Hotspots, HotLines), hot_lines),
    Section("GPUs", (GpuFindings,), devices),
    Section("GPU kernels", (GpuFindings,), kernels),
    Section("GPU copies", (GpuFindings,), copies),
    Section("GPU waits", (GpuFindings,), waits),
    Section("CUDA calls", (GpuFindings,), calls),
    Section("Python functions", (Calling,), functions),
    Section("between operators", (Between,), between),
    Section("ranges", (Hotspots,), ranges, (RangeRows,)),
    Section("sources", (), agreement),
    Section("environment", (), environment),
    Section("losses", (Losses,), losses),
    Section("child recordings", (Children,), child_recordings),
)
KINDS = tuple(dict.fromkeys(kind for each in SECTIONS for kind in (*each.requires, *each.shows)))


def render(
    findings: Findings,
    *,
    width: int = 200,
    top: int | None = None,
    sort: str = "self",
    columns: str = "short",
    color: bool = False,
) -> str:
    """The report, with a newline at its end.

    Args:
        width: terminal cells; only a `file:line` that does not fit goes beyond.
        top: rows of each table; None for the report's own choice, 0 for all.
        sort: one of `support.view.SORTS`.
        columns: one of `support.view.COLUMNS`.
        color: with escape sequences for a terminal.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    layout = Layout(max(width, NARROWEST), top, sort_of(findings, sort), columns)
    parts = []
    for section in SECTIONS:
        if all(kind in findings for kind in section.requires):
            parts.append(_drawn(section.build(findings, layout), layout, color))
    return "\n".join(part for part in parts if part)


def render_measured(measured: Measurements, *, width: int = 200, color: bool = False) -> str:
    """The same of measurements alone, with a newline at its end."""
    layout = Layout(max(width, NARROWEST), None, "self")
    return _drawn(efficiency_of(measured, layout), layout, color)


def _drawn(items: Iterable[RenderableType], layout: Layout, color: bool) -> str:
    # Wider than asked for: only tables whose file:line does not fit use it, the rest is fitted beforehand.
    text = io.StringIO()
    console = Console(
        file=text,
        width=max(layout.width, 4096),
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for item in items:
        console.print(item, soft_wrap=False, crop=False)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines)
