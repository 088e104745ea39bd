"""Selects the rows of a table that match the focus."""

from __future__ import annotations

from typing import TypeVar

from perfprobe.models.focus import Focus
from perfprobe.tables.columns import Table
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure

SomeTable = TypeVar("SomeTable", bound=Table)


def in_focus(findings: Findings, rows: SomeTable) -> SomeTable:
    """The rows that match the focus, or all without one. `models.focus.SOUGHT` has the searched texts."""
    if findings.focus is None:
        return rows
    structure = findings.get(CallStructure)
    focus = Focus(findings.trace, findings.focus, None if structure is None else structure.python.code)
    return rows.take(focus.matching(rows))
