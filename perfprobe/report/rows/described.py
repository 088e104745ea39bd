"""Rows of any table, made from the declarations of its columns: ids become texts and lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfprobe.report.rows.row import Values, measured, named, values
from perfprobe.tables.columns import Column, Table
from perfprobe.tables.events import Signatures
from perfprobe.tables.findings import Findings
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


def described_rows(findings: Findings, table: Table, top: int) -> list[Values]:
    """The first `top` rows, 0 for all. Ids of frames become a `Line`, other ids texts; -1 becomes None."""
    made = {name: _text_of(findings.trace, column) for name, column in type(table).described.items()}
    rows = values(table.take(slice(top or None)))
    return [Values({name: made[name](value) for name, value in row.items()}) for row in rows]


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
    return measured if column.optional else lambda value: value
