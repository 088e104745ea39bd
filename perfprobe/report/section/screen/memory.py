"""Memory on the first screen: the peak, what it consisted of, and what grows."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.memory import category_rows, line_rows
from perfprobe.report.rows.screen import ScreenRow, listed, said
from perfprobe.report.section.memory import growing_lines, place_text
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.memory import MemoryUse

_MOST_CATEGORIES = 3
_LEAST = 0.05  # of the peak
_NOTEWORTHY = 0.001  # of the peak for each step: a thousand steps double it


def memory_line(findings: Findings) -> Iterator[ScreenRow]:
    """MEMORY: only where it was recorded."""
    use = findings.get(MemoryUse)
    if use is None:
        return
    shown = [row for row in category_rows(findings) if (row.peak_share or 0) >= _LEAST]
    texts = [f"{row.category} {whole_percent(row.peak_share or 0)}" for row in shown[:_MOST_CATEGORIES]]
    yield said("MEMORY", f"peak {units.size(use.peak_bytes)}", *listed(texts, first=": "))
    growing = growing_lines(findings).take(slice(1))
    if len(growing) and (use.growth_bytes or 0) >= _NOTEWORTHY * use.peak_bytes:
        (row,) = line_rows(findings, growing)
        text = f"grows by {units.size(use.growth_bytes)} a step, most at {place_text(row.line)}"
        yield said("", text, style="yellow", line=row.line)
