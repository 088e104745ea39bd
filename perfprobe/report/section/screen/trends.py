"""What rises from step to step: the duration of a step, and memory."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.rows.workers import loader_rows
from perfprobe.report.section.screen.places import first_line
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import GrowingWorkers, Rising
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.trends import Trends


def slower_line(findings: Findings, word: str) -> Iterator[ScreenRow]:
    """TREND: that steps get slower, and which line makes them slower."""
    found = findings.get(Rising)
    if found is None or not found.slower:
        return
    rise = findings[Trends].duration
    assert rise is not None
    times = " to ".join(units.duration(round(each)) for each in (rise.first, rise.last))
    line = findings.trace.line(found.frame)
    at = () if line is None else (f", by {place(line)}{first_line(line)}",)
    pieces = (f"{word}s get slower: {times}", *at, ", first to last fifth")
    yield said("TREND", *pieces, style="yellow", time_ns=round(rise.last - rise.first), line=line)


def growth_line(findings: Findings) -> Iterator[ScreenRow]:
    """MEMORY: that the process grows; with --memory the line about tensors says more."""
    found = findings.get(Rising)
    if found is None or not found.memory:
        return
    rise = findings[Trends].memory
    assert rise is not None
    low, each, high = (units.size(round(at)) for at in (rise.low, rise.a_step, rise.high))
    low, high = (units.without_unit(at, each) for at in (low, high))
    on = MemoryUse in findings
    yield said(
        "" if on else "MEMORY",
        f"{'the process ' if on else ''}grows by {each} a step ({low} to {high})",
        "" if on else "; --memory names the line",
        f"; {units.size(round(rise.last))} at the end",
        style="yellow",
    )


def workers_growth_line(findings: Findings) -> Iterator[ScreenRow]:
    """MEMORY: that the memory grows which only DataLoader's workers have, and the usual cause."""
    found = findings.get(GrowingWorkers)
    if found is None:
        return
    row = loader_rows(findings)[found.loader]
    number = row.workers or row.processes
    who = "the DataLoader's worker" if number == 1 else f"each of {number} DataLoader workers"
    grows = f"{who} grows by {units.size(found.grown_bytes)}"
    why = ": it copies lists and dicts that it reads; arrays stay shared"
    yield said("MEMORY", grows, why, f" ({printable(row.name)})", style="yellow")
