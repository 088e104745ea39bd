"""Rows that compare the observer and the autograd profiler, if both recorded."""

from __future__ import annotations

from perfprobe.report.rows.row import Values, named, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.sources import Sources
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


@frozen
class DifferenceRow:
    """Calls of an operator on which the two differ. observer, autograd: the value of each."""

    kind: str
    operator: str | None
    overload: str | None
    observer: str | None
    autograd: str | None
    reason: str | None
    calls: int


def sources_row(found: Sources) -> Values:
    """The figures of `Sources`, and how many differences have no known reason."""
    figures = {name: value for name, value in vars(found).items() if name != "differences"}
    return Values({**figures, "unexplained": found.unexplained})


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
