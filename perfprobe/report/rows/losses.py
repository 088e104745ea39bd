"""Rows of what was lost or not recorded."""

from __future__ import annotations

from perfprobe.report.rows.row import measured, named, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings


@frozen
class LossRow:
    """What a source lost: the reason, how many (None if not known), and the remedy."""

    source: str
    reason: str
    count: int | None
    remedy: str | None


def loss_rows(findings: Findings) -> list[LossRow]:
    """All losses, in the order in which they were noticed."""
    losses = findings.get(Losses) or Losses.empty()
    return [
        LossRow(row["source"], row["reason"], measured(row["count"]), named(row["remedy"]))
        for row in values(losses)
    ]
