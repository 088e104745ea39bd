"""Rows of imports: what was imported, the code that imported it, and how long it took."""

from __future__ import annotations

from perfprobe.models.imports import imports
from perfprobe.report.rows.row import place
from perfprobe.support.frozen import frozen
from perfprobe.tables.python import CallStructure
from perfprobe.tables.trace import Line, Trace


@frozen(kw_only=True)
class ImportRow:
    """A library that was imported: see `Import`."""

    module: str | None
    by: str | None
    line: Line | None = place()
    time_ns: int
    cpu_ns: int
    own_ns: int


def import_rows(trace: Trace, structure: CallStructure) -> list[ImportRow]:
    """The imports that samples show, most time first."""
    return [ImportRow(**each._asdict()) for each in imports(trace, structure)]
