"""Rows of a table as it is: JSON has its columns, with ids as what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfprobe.report.rows.row import Values, measured, named, values
from perfprobe.tables.columns import TEXT, Column, Table
from perfprobe.tables.events import Signatures
from perfprobe.tables.findings import Findings
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


def described_rows(findings: Findings, table: Table) -> list[Values]:
    """Each row. Ids of frames become a `Line`, other ids texts; -1 and empty texts become None."""
    made = {name: _text_of(findings.trace, type(table).described[name]) for name in table.columns()}
    return [Values({name: made[name](value) for name, value in row.items()}) for row in values(table)]


def _text_of(trace: Trace, column: Column) -> Callable[[Any], Any]:
    """A function from a value of the column to what it stands for."""
    strings = trace.recording[Strings]
    texts: dict[type[Table], Callable[[int], Any]] = {
        Strings: lambda at: named(strings[at]),
        Signatures: trace.signature,
        Frames: trace.line,
        Modules: trace.module,
    }
    if column.refers_to is not None:
        return texts.get(column.refers_to, measured)
    return named if column.dtype == TEXT else measured
