"""The report as text: its sections, each drawn from the findings it requires."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console

from perfprobe.report.render.blocks import drawn
from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.section.base import Layout
from perfprobe.report.section.block import Block
from perfprobe.report.section.efficiency import efficiency_of
from perfprobe.report.section.listed import SECTIONS
from perfprobe.tables.findings import Findings
from perfprobe.tables.measurements import Measurements

NARROWEST = 40


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
    layout = Layout(top, sort_of(findings, sort), columns, max(width, NARROWEST))
    parts = []
    for section in SECTIONS:
        if all(kind in findings for kind in section.requires):
            parts.append(_drawn(section.blocks(findings, layout), layout, color))
    return "\n".join(part for part in parts if part)


def render_measured(measured: Measurements, *, width: int = 200, color: bool = False) -> str:
    """The same of measurements alone, with a newline at its end."""
    layout = Layout(width=max(width, NARROWEST))
    return _drawn(efficiency_of(measured, layout), layout, color)


def _drawn(blocks: Iterable[Block], layout: Layout, color: bool) -> str:
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
    for block in blocks:
        for item in drawn(block, layout.width):
            console.print(item, soft_wrap=False, crop=False)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines)
