"""Rows of how the observer and the autograd profiler agree, where both recorded."""

from __future__ import annotations

from dataclasses import dataclass

from perfprobe.report.rows.row import named, values
from perfprobe.tables.sources import Sources
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


@dataclass(frozen=True)
class SourcesRow:
    """Calls seen by both and by each; the others as in `Sources`."""

    both: int
    observer: int
    autograd: int
    windows: int
    reading_ns: int | None
    clock_error_ns: int | None
    apart_ns: int | None
    unexplained: int


@dataclass(frozen=True)
class DifferenceRow:
    """Calls of an operator on which they differ; observer, autograd: what each says."""

    kind: str
    operator: str | None
    overload: str | None
    observer: str | None
    autograd: str | None
    reason: str | None
    calls: int


def sources_row(found: Sources) -> SourcesRow:
    """The only row."""
    figures = {name: value for name, value in vars(found).items() if name != "differences"}
    return SourcesRow(**figures, unexplained=found.unexplained)


def difference_rows(trace: Trace, found: Sources) -> list[DifferenceRow]:
    """All differences, most frequent first."""
    strings = trace.recording[Strings]
    return [
        DifferenceRow(
            kind=row["kind"],
            operator=named(strings[row["name"]]),
            overload=named(strings[row["overload"]]),
            observer=named(row["observer"]),
            autograd=named(row["autograd"]),
            reason=named(row["reason"]),
            calls=row["count"],
        )
        for row in values(found.differences)
    ]
