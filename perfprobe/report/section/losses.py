"""What was lost or not recorded, always the last part of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from perfprobe.report.render.columns import GAP
from perfprobe.report.section.base import Layout
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings

LONGEST = 1000  # cells of a text
NARROWEST = 20  # cells for both texts
TITLES = ("source", "count", "what", "remedy")


def losses(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """A table with the reason and the remedy of each."""
    rows = findings[Losses]
    if len(rows) == 0:
        yield Text("Losses  none: nothing is known to be missing here", style="dim")
        return
    yield Text("Losses", style="bold yellow")
    cells = [
        [cut(printable(text), LONGEST) for text in (source, _number(count), reason, remedy or units.ABSENT)]
        for source, reason, count, remedy in zip(
            rows.source, rows.reason, rows.count.tolist(), rows.remedy, strict=True
        )
    ]
    yield _table([TITLES, *cells], layout.width)


def _number(count: int) -> str:
    return units.count(count if count >= 0 else None)


def _table(lines: Sequence[Sequence[str]], width: int) -> Table:
    """Columns as wide as their content; where that is too wide the texts share what there is, and wrap."""
    source, count, what, remedy = (max(map(cell_len, column)) for column in zip(*lines, strict=True))
    source = min(source, max(width // 4, cell_len(TITLES[0])))
    room = max(width - source - count - GAP * (len(TITLES) - 1), NARROWEST)
    remedy = min(remedy, max(room * 2 // 5, room - what))
    drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    drawn.add_column(TITLES[0], width=source, overflow="fold")
    drawn.add_column(TITLES[1], width=count, justify="right", no_wrap=True)
    drawn.add_column(TITLES[2], width=min(what, room - remedy), overflow="fold")
    drawn.add_column(TITLES[3], width=remedy, overflow="fold")
    for cells in lines[1:]:
        drawn.add_row(*(Text(cell) for cell in cells))
    return drawn
