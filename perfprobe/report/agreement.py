"""What the autograd profiler did, and how it agrees with the observer where both recorded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import RenderableType

from perfprobe.report.base import Layout
from perfprobe.report.columns import Column, fit, table
from perfprobe.report.paragraph import heading, paragraph
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Rows
from perfprobe.tables.findings import Findings
from perfprobe.tables.sources import Differences, Sources

TOP = 10  # rows of each kind


def agreement(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """What both saw, and a table of the differences: those without a reason first."""
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
    if found is not None and len(found.differences):
        shown = found.differences.take(_order(found.differences)[: layout.most(TOP) or None])
        yield table(fit(_columns(findings, shown), layout.width))


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


def _order(differences: Differences) -> Rows:
    """Those without a reason first, then the most frequent."""
    return np.lexsort((-differences.count, differences.reason != ""))


def _columns(findings: Findings, shown: Differences) -> list[Column]:
    strings = findings.trace.recording.strings
    names = [
        printable(".".join(filter(None, (strings[name], strings[overload])))) or "(all)"
        for name, overload in zip(shown.name.tolist(), shown.overload.tolist(), strict=True)
    ]
    texts = [
        f"{printable(ours)} | {printable(theirs)}" if ours or theirs else ""
        for ours, theirs in zip(shown.observer, shown.autograd, strict=True)
    ]
    return [
        Column("calls", [units.count(count) for count in shown.count.tolist()], align="right"),
        Column("difference", list(shown.kind)),
        Column("operator", names, least=12, wish=24),
        Column("why", [reason or "(not explained)" for reason in shown.reason], least=20, wish=40),
        *([Column("observer | autograd profiler", texts, 5, least=20)] if any(texts) else []),
    ]
