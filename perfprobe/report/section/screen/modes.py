"""The line about modes of torch on the first screen."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.shorten import place
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import SlowModes
from perfprobe.tables.modes import Mode


def mode_lines(findings: Findings, word: str) -> Iterator[ScreenRow]:
    """MODE: what the program switched on, where, in how many steps, and how much longer those took."""
    found = findings.get(SlowModes)
    for each in () if found is None else found.found:
        at = "" if each.line is None else f" since {place(each.line)}"
        text = f"the program's {printable(each.name)} is on{at}"
        yield said("MODE", text, *_much(each, word), style="yellow", time_ns=each.time_ns, line=each.line)


def _much(mode: Mode, word: str) -> Iterator[str]:
    if mode.slower is not None:
        yield f": these {word}s take {units.amount(mode.slower)} times as long"
    if not mode.whole:
        yield f", for {units.duration(mode.time_ns)}"
    else:
        yield f", in {'all' if mode.steps == mode.whole else f'{mode.steps:,} of'} {mode.whole:,} {word}s"
