"""What the autograd profiler did, and how it agrees with the observer where both recorded."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from perfprobe.report.base import Layout
from perfprobe.report.columns import Column, fit, table
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.sources import Differences, Sources
from perfprobe.tables.strings import Strings

TOP = 10  # differences without a known reason
NAMED = 3  # operators of each reason


def agreement(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """What both saw, a table of the differences without a known reason, and a line for each reason."""
    recording = findings.trace.recording
    windows = recording.number("autograd", "windows")
    if windows is None:
        return
    found = findings.sources
    told = "operators from the autograd profiler" if found is None else _agreement(found)
    yield heading("Sources", told, layout.width)
    apart_ns = None if found is None else found.apart_ns
    text = _windows(int(windows), recording.number("autograd", "reading_ns"), apart_ns)
    yield paragraph(text, layout.width, "dim")
    if found is None:
        return
    unexplained = found.differences.take(found.differences.reason == "")
    if len(unexplained):
        shown = unexplained.take(slice(layout.most(TOP) or None))
        yield table(fit(_columns(findings, shown), layout.width))
    for line in _explained(findings, found.differences):
        yield paragraph(line, layout.width, "dim")


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


def _explained(findings: Findings, differences: Differences) -> Iterator[str]:
    """A line for each reason: `1,500 x signature: torch.profiler does not ... (aten::to 810, 4 more)`."""
    for kind, reason in dict.fromkeys(zip(differences.kind, differences.reason, strict=True)):
        if not reason:
            continue
        rows = differences.take((differences.kind == kind) & (differences.reason == reason))
        names = [
            f"{name} {units.count(count)}"
            for name, count in zip(_names(findings, rows), rows.count.tolist(), strict=True)
            if name
        ]
        more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
        of = f" ({', '.join([*names[:NAMED], *more])})" if names else ""
        yield f"{units.count(int(rows.count.sum()))} x {kind}: {printable(reason)}{of}."


def _names(findings: Findings, shown: Differences) -> list[str]:
    """The operator of each row; empty where it sums over operators."""
    strings = findings.trace.recording[Strings]
    return [
        printable(".".join(filter(None, (strings[name], strings[overload]))))
        for name, overload in zip(shown.name.tolist(), shown.overload.tolist(), strict=True)
    ]


def _columns(findings: Findings, shown: Differences) -> list[Column]:
    texts = [
        f"{printable(ours)} | {printable(theirs)}" if ours or theirs else ""
        for ours, theirs in zip(shown.observer, shown.autograd, strict=True)
    ]
    return [
        Column("calls", [units.count(count) for count in shown.count.tolist()], align="right"),
        Column("difference", list(shown.kind)),
        Column("operator", [name or "(all)" for name in _names(findings, shown)], least=12, wish=24),
        *([Column("observer | autograd profiler", texts, 5, least=20)] if any(texts) else []),
    ]
