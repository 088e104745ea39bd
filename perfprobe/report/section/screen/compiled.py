"""The line about torch.compile on the first screen."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recompiled


def recompiled_line(findings: Findings) -> Iterator[ScreenRow]:
    """ALSO: the function that was compiled again and again, and the guard that failed last."""
    found = findings.get(Recompiled)
    if found is None:
        return
    function = found.function
    often = f"{function.number:,} times{' or more' if found.is_cut else ''}"
    text = f"{printable(function.line.function)} compiled {often}, {place(function.line)}"
    guard = f": last because {printable(function.guard)} failed" if function.guard else ""
    took = "" if function.time_ns is None else f"; {units.duration(function.time_ns)}"
    yield said("ALSO", text, guard, took, time_ns=function.time_ns, line=function.line, style="yellow")
