"""What was lost or not recorded, always the last part of the report."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from perfprobe.report.base import Layout
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings

LONGEST = 1000  # cells of a text


def losses(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """A table with the reason and the remedy of each."""
    assert findings.hotspots is not None
    rows = findings.hotspots.losses
    if len(rows) == 0:
        yield Text("Losses  none", style="dim")
        return
    yield Text("Losses", style="bold yellow")
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=layout.width, header_style="bold")
    drawn.add_column("source", no_wrap=True)
    drawn.add_column("count", justify="right", no_wrap=True)
    drawn.add_column("what", ratio=3, overflow="fold")
    drawn.add_column("remedy", ratio=2, overflow="fold")
    for source, reason, count, remedy in zip(
        rows.source, rows.reason, rows.count.tolist(), rows.remedy, strict=True
    ):
        number = units.count(count if count >= 0 else None)
        drawn.add_row(
            *(Text(cut(printable(text), LONGEST)) for text in (source, number, reason, remedy or "-"))
        )
    yield drawn
