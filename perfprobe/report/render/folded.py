"""A table whose long texts continue on the next line."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from perfprobe.report.render.columns import BETWEEN
from perfprobe.report.section.block import Column

NARROWEST = 20  # the last two columns together get at least this many cells


def folded(columns: Sequence[Column], width: int) -> Table:
    """Columns as wide as their content. If that is too wide, the last two share the rest and fold lines."""
    *before, what, remedy = (column.widest for column in columns)
    titles = [column.title for column in columns]
    first = min(before[0], max(width // 4, cell_len(titles[0])))
    room = max(width - first - sum(before[1:]) - BETWEEN * (len(titles) - 1), NARROWEST)
    remedy = min(remedy, max(room * 2 // 5, room - what))
    drawn = Table(box=None, pad_edge=False, padding=(0, BETWEEN, 0, 0), header_style="bold")
    drawn.add_column(titles[0], width=first, overflow="fold")
    for title, cells in zip(titles[1:-2], before[1:], strict=True):
        drawn.add_column(title, width=cells, justify="right", no_wrap=True)
    drawn.add_column(titles[-2], width=min(what, room - remedy), overflow="fold")
    drawn.add_column(titles[-1], width=remedy, overflow="fold")
    for texts in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*map(Text, texts))
    return drawn
