"""Rows of the critical path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.gpu.chosen import Chosen, chosen
from perfprobe.report.rows.gpu.site import Site, site
from perfprobe.report.rows.row import Values, inline, named, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.critical import Bound, CriticalPath
from perfprobe.tables.findings import Findings
from perfprobe.tables.strings import Strings


@frozen(kw_only=True)
class CriticalRow:
    """Stretches of the path with the same bound and place; figures as in `CriticalRows`.

    share: of the path's length. step_ns: in a step, None without steps.
    """

    bound: str | None
    name: str | None
    operator: str | None
    at: Site = inline()
    stretches: int
    total_ns: int
    longest_ns: int
    step_ns: int | None
    share: float | None


def critical_rows(findings: Findings, top: int, sort: str = "self") -> Chosen[CriticalRow]:
    """The `top` first rows in focus, 0 for all."""
    trace, strings, path = findings.trace, findings.trace.recording[Strings], findings[CriticalPath]

    def row(value: Mapping[str, Any]) -> CriticalRow:
        return CriticalRow(
            bound=word(Bound, value["bound"]),
            name=named(strings[value["name"]]),
            operator=named(strings[value["operator"]]),
            at=site(trace, value),
            **{name: value[name] for name in ("stretches", "total_ns", "longest_ns")},
            step_ns=value["total_ns"] // path.steps if path.steps else None,
            share=value["total_ns"] / path.length_ns if path.length_ns else None,
        )

    return chosen(findings, path.rows, "stretches", top, sort, row)


def path_row(findings: Findings) -> Values:
    """The length of the path, and what it covers."""
    found = findings[CriticalPath]
    return Values({name: value for name, value in vars(found).items() if isinstance(value, int)})


def by_bound(findings: Findings) -> list[tuple[str, int]]:
    """The time of each bound, most first."""
    rows = findings[CriticalPath].rows
    sums = [(bound.name.lower(), int(rows.total_ns[rows.bound == bound].sum())) for bound in Bound]
    return sorted((each for each in sums if each[1]), key=lambda each: -each[1])
