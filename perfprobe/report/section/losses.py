"""What was lost or not recorded, always near the end of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.losses import LossRow, loss_rows
from perfprobe.report.section.block import Block, Fact, Facts, Head, Heading, Section, Table, no_tables
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings

LONGEST = 1000  # characters of a text


def losses(findings: Findings, _: Choice) -> Iterator[Block]:
    """A table with the reason and the remedy of each."""
    rows = loss_rows(findings)
    if not rows:
        yield Facts([Fact("Nothing is known to be missing here", "dim")])
        return
    yield Heading("Not recorded", style="bold yellow")
    yield Table(columns(_COLUMNS, rows), folds=True)


def _cell(said: str) -> str:
    return cut(printable(said), LONGEST)


_COLUMNS: tuple[Head[Sequence[LossRow]], ...] = (
    text(
        "source",
        "Part of perfprobe that reports the loss: operators, samples, cprofile, gpu, ranges, memory, "
        "processes.",
        lambda row: _cell(row.source),
    ),
    figure("count", "How many; - if not known.", lambda row: units.count(row.count)),
    text("what", "What is missing, and why.", lambda row: _cell(row.reason)),
    text(
        "remedy",
        "How to avoid it in the next run; - if it cannot be avoided.",
        lambda row: _cell(row.remedy or units.ABSENT),
    ),
)

LOSSES = Section(
    "missing",
    (Losses,),
    losses,
    no_tables,
    titles=("Not recorded",),
    guide="limits",
    means="Everything that is missing from the figures, with reason and remedy.",
    heads=_COLUMNS,
)
