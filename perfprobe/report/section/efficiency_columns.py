"""Columns of the table of operators for rows whose calls were measured."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.report.section.block import Column
from perfprobe.report.section.efficiency_cells import STYLES, of_limit, verdict_kind
from perfprobe.support import units
from perfprobe.tables.measurements import Measurement


def efficiency_columns(measured: Sequence[Measurement | None]) -> list[Column]:
    """Share of the limit, and the verdict; no columns if no shown row was measured."""
    if not any(measured):
        return []
    kinds = [units.ABSENT if row is None else verdict_kind(row) for row in measured]
    parts = [units.ABSENT if row is None else of_limit(row) for row in measured]
    return [
        Column("of limit", parts, 3, align="right"),
        Column("verdict", kinds, 3, styles=[STYLES.get(kind, "") for kind in kinds]),
    ]
