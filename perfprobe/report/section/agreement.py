"""The autograd profiler's recording, and how it agrees with the observer's if both recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.sources import DifferenceRow, difference_rows, sources_row
from perfprobe.report.section.block import Block, Head, Heading, Paragraph, Section, Table
from perfprobe.report.section.heads import columns, figure, text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.sources import Sources

TOP = 10  # differences without a known reason that are shown
NAMED = 3  # operators that are named for each reason


def source_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`sources`, in one row, and `differences`."""
    found = findings.sources
    if found is None:
        return {}
    return {"sources": [sources_row(found)], "differences": difference_rows(findings.trace, found)}


def agreement(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Yields what both recorded, a table of the differences without a known reason, and a line for each
    reason.
    """
    recording = findings.trace.recording
    windows = recording.number("autograd", "windows")
    if windows is None:
        return
    found = findings.sources
    yield Heading("Sources", "operators from the autograd profiler" if found is None else _agreement(found))
    apart_ns = None if found is None else found.apart_ns
    yield Paragraph(_windows(int(windows), recording.number("autograd", "reading_ns"), apart_ns), "dim")
    if found is None:
        return
    rows = difference_rows(findings.trace, found)
    unexplained = [row for row in rows if row.reason is None]
    if unexplained:
        yield Table(columns(_COLUMNS, unexplained[: choice.most(TOP) or None]))
    for line in _explained(rows):
        yield Paragraph(line, "dim")


def _agreement(found: Sources) -> str:
    unexplained = units.count(found.unexplained) if found.unexplained else "none"
    explained = int(found.differences.count.sum()) - found.unexplained
    more = f"; {units.count(explained)} with a known reason" if explained else ""
    return f"{units.count(found.both)} operators seen by both; disagreements: {unexplained}{more}"


def _windows(windows: int, reading_ns: float | None, apart_ns: int | None) -> str:
    many = "" if windows == 1 else "s"
    text = f"Autograd profiler: {units.count(windows)} window{many}, read in {units.duration(reading_ns)}"
    text += " of the program's time"
    if apart_ns is None:
        return f"{text}."
    return f"{text}; half of the calls start at most {units.duration(apart_ns)} apart in the two."


def _explained(rows: Sequence[DifferenceRow]) -> Iterator[str]:
    """A line for each reason: `1,500 x signature: torch.profiler does not ... (aten::to 810, 4 more)`."""
    of_reason: dict[tuple[str, str], list[DifferenceRow]] = {}
    for row in rows:
        if row.reason is not None:
            of_reason.setdefault((row.kind, row.reason), []).append(row)
    for (kind, reason), alike in of_reason.items():
        names = [f"{_name(row)} {units.count(row.calls)}" for row in alike if _name(row)]
        more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
        of = f" ({', '.join([*names[:NAMED], *more])})" if names else ""
        yield f"{units.count(sum(row.calls for row in alike))} x {kind}: {printable(reason)}{of}."


def _name(row: DifferenceRow) -> str:
    """The operator; empty where the row sums over operators."""
    return printable(".".join(filter(None, (row.operator, row.overload))))


def _both(row: DifferenceRow) -> str:
    if not (row.observer or row.autograd):
        return ""
    return f"{printable(row.observer or '')} | {printable(row.autograd or '')}"


_COLUMNS: tuple[Head[Sequence[DifferenceRow]], ...] = (
    figure("calls", "Number of calls that differ.", lambda row: units.count(row.calls)),
    text("difference", "How the two sources differ.", lambda row: row.kind),
    text("operator", "Name of the operator.", lambda row: _name(row) or "(all)", least=12, wish=24),
    text("observer | autograd profiler", "What each of the two recorded.", _both, 5, shown=_both, least=20),
)

SOURCES = Section(
    "sources",
    (),
    agreement,
    source_tables,
    titles=("Sources",),
    guide="sources",
    means="Differences between the observer and the autograd profiler (`--operators both`).",
    heads=_COLUMNS,
    json={
        "sources": "The section *sources*: how many calls agree.",
        "differences": "The section *sources*: calls that differ.",
    },
)
