"""The report as text: its sections, each drawn from the findings it requires."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console

from perfprobe.models.left_out import left_out_by
from perfprobe.report.render.blocks import drawn
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.ranking import sort_of
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.screen.screen import screen
from perfprobe.support.text import printable
from perfprobe.support.views import needed_for
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings
from perfprobe.tables.recording import Recording

NARROWEST = 40


def render(
    findings: Findings,
    *,
    width: int = 200,
    top: int | None = None,
    sort: str = "self",
    columns: str = "short",
    color: bool = False,
    view: str | None = None,
) -> str:
    """All sections of the report, or one, with a newline at its end.

    Args:
        width: terminal cells; only a `file:line` that does not fit may be longer.
        top: rows of each table; None for the report's own choice, 0 for all.
        sort: one of `support.view.SORTS`.
        columns: one of `support.view.COLUMNS`.
        color: with escape sequences for a terminal.
        view: one of `support.view.VIEWS`: only this section.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    from perfprobe.report.section.listed import chosen  # not for the first screen

    choice = Choice(top, sort_of(findings, sort), columns, sort, view is not None)
    parts = []
    for section in chosen(view):
        if all(kind in findings for kind in section.requires):
            parts.append(page(section.blocks(findings, choice), width=width, color=color))
    text = "\n".join(part for part in parts if part)
    return text if text or view is None else page(_nothing(findings, view), width=width, color=color)


def _nothing(findings: Findings, view: str) -> Iterator[Block]:
    """The text for a view without data: what it needs, and why this recording does not have it."""
    needed, recording = needed_for(view), findings.trace.recording
    options = [left_out_by(recording, source) for source in needed.sources]
    given = next((option for option in options if option), None)
    why = f", which {given} left out" if given else _lost(recording, needed.sources)
    yield Paragraph(f"Not recorded: {view}. It needs {needed.what}{why}.", "yellow")


def _lost(recording: Recording, sources: Sequence[str]) -> str:
    """The reasons that the collectors gave."""
    losses = recording[Losses]
    rows = zip(losses.source, losses.reason, strict=True)
    reasons = [printable(reason) for source, reason in rows if source in sources]
    return f"; in this run: {'; '.join(reasons)}" if reasons else ""


def first_screen(findings: Findings, *, width: int = 200, color: bool = False) -> str:
    """The beginning of a report: at most 24 lines."""
    return page(screen(findings), width=width, color=color)


def page(blocks: Iterable[Block], *, width: int = 200, color: bool = False) -> str:
    """Blocks drawn one below the other, with a newline at the end."""
    # Wider than asked for: only tables whose file:line does not fit use it; the rest is fitted before.
    width, text = max(width, NARROWEST), io.StringIO()
    console = Console(
        file=text,
        width=max(width, 4096),
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for block in blocks:
        for item in drawn(block, width):
            console.print(item, soft_wrap=False, crop=False)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines)
