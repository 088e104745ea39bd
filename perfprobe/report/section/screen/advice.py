"""TRY: the one change to make first, and the command that tries it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from perfprobe.models.rules import RULES
from perfprobe.report.rows.advice import ChangeRow, best_row, is_best
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import at_most
from perfprobe.report.shorten import place
from perfprobe.support.text import printable
from perfprobe.support.views import command
from perfprobe.tables.findings import Findings


def try_lines(findings: Findings) -> Iterator[ScreenRow]:
    """The change, where, and what it saves at most; below it the command."""
    row = best_row(findings)
    if row is not None:
        yield said("TRY", change_text(row), share=row.share, line=row.line, style="bold")
        yield said("", printable(row.try_command or _listed(findings)), whole=True)


def change_text(row: ChangeRow) -> str:
    """`num_workers=2 at train.py:31, at most 1.9x`."""
    at = "" if row.line is None else f" at {place(row.line)}"
    gain = "" if row.gain is None else f", {at_most(row.gain)}"
    return printable(f"{row.what}{at}{gain}")


def remedy(findings: Findings, rule: str, before: str = ": ") -> tuple[str, ...]:
    """What helps, by a rule, as a piece of a line; nothing where TRY says it."""
    return () if is_best(findings, rule) else (f"{before}{RULES[rule].change}",)


def _listed(findings: Findings) -> str:
    """The command that shows the changed code, where nothing can be tried."""
    recording = findings.trace.recording
    path = f" {shlex.quote(recording.path)}" if recording.is_trace else ""
    return f"perfprobe {command('advice')}{path}"
