"""What was lost or not recorded, always near the end of the report."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.losses import loss_rows
from perfprobe.report.section.block import Block, Column, Fact, Facts, Heading, Table
from perfprobe.report.section.figures import figures
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings

LONGEST = 1000  # characters of a text


def losses(findings: Findings, _: Choice) -> Iterator[Block]:
    """A table with the reason and the remedy of each."""
    rows = loss_rows(findings)
    if not rows:
        yield Facts([Fact("Losses  none: nothing is known to be missing here", "dim")])
        return
    yield Heading("Losses", style="bold yellow")
    texts = {
        "source": [row.source for row in rows],
        "what": [row.reason for row in rows],
        "remedy": [row.remedy or units.ABSENT for row in rows],
    }
    source, what, remedy = (
        Column(title, [cut(printable(text), LONGEST) for text in cells]) for title, cells in texts.items()
    )
    yield Table(
        [source, figures("count", (units.count(row.count) for row in rows)), what, remedy], folds=True
    )
