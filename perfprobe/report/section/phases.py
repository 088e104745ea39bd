"""The column of phases of the training step."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.report.section.block import Column
from perfprobe.support import units
from perfprobe.tables.trace import SHORT_PHASES

_BRIEF = {phase.name.lower(): text for phase, text in SHORT_PHASES.items()}


def phase_column(phases: Sequence[str | None]) -> Column:
    """The phase of each row."""
    texts = [phase or units.ABSENT for phase in phases]
    return Column("phase", texts, 3, style="dim", brief=[_BRIEF.get(text, text) for text in texts])
