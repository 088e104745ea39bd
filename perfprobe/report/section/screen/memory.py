"""Memory on the first screen: of GPUs and of the CPU the peak, what it consisted of, and what grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfprobe.report.rows.device_memory import DeviceMemoryRow, device_memory_rows
from perfprobe.report.rows.memory import category_rows, device_of, is_of_recorded_steps, line_rows
from perfprobe.report.rows.named import is_named
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.gpu.device_memory import retries_text
from perfprobe.report.section.memory import place_text
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.support import units
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import MemoryGrowth
from perfprobe.tables.memory import MemoryUse

_MOST_CATEGORIES = 3


def memory_line(findings: Findings) -> Iterator[ScreenRow]:
    """MEMORY: only where it was recorded. GPUs first, of which the fullest is named."""
    on_gpus = DeviceMemory in findings
    if on_gpus:
        yield from _fullest_gpu(findings, device_memory_rows(findings))
    if MemoryUse in findings:
        is_of_trace = device_of(findings) != "CPU"
        second = "peak of tensors made in the trace" if is_of_trace else "CPU peak"
        yield from _by_category(findings, "" if on_gpus else "MEMORY", second if on_gpus else "peak")


def _fullest_gpu(findings: Findings, rows: Sequence[DeviceMemoryRow]) -> Iterator[ScreenRow]:
    row = max(rows, key=lambda each: (each.peak_share or 0, each.peak_bytes))
    of_capacity = f", {whole_percent(row.peak_share)} of " if row.peak_share is not None else ""
    capacity = units.size(row.capacity_bytes) if of_capacity else ""
    others = f", the fullest of {len(rows)}" if len(rows) > 1 else ""
    yield said(
        "MEMORY",
        f"GPU {row.device} peak {units.size(row.peak_bytes)}{of_capacity}{capacity}",
        f"; {units.size(row.reserved_peak_bytes)} reserved",
        others,
    )
    if row.retries:
        yield said("", retries_text(row), style="yellow")
    if row.device in findings[MemoryGrowth].devices:
        yield said("", f"GPU {row.device} grows by {units.size(row.growth_bytes)} a step", style="yellow")


def _by_category(findings: Findings, label: str, title: str) -> Iterator[ScreenRow]:
    use = findings[MemoryUse]
    shown = [row for row in category_rows(findings) if is_named(row.peak_share or 0)]
    texts = [f"{row.category} {whole_percent(row.peak_share or 0)}" for row in shown[:_MOST_CATEGORIES]]
    part = " of what recorded steps allocated" if is_of_recorded_steps(findings) else ""
    yield said(label, f"{title} {units.size(use.peak_bytes)}{part}", *listed(texts, first=": "))
    growth = findings[MemoryGrowth]
    if growth.is_noteworthy:
        (row,) = line_rows(findings, growth.lines.take(slice(1)))
        text = f"grows by {units.size(use.growth_bytes)} a step, most at {place_text(row.line)}"
        yield said("", text, style="yellow", line=row.line)
