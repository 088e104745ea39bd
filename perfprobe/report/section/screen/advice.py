"""TRY: the one change to make first, and the command that tries it."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.rules import RULES
from perfprobe.report.rows.advice import ChangeRow, best_row, is_best
from perfprobe.report.rows.screen import ScreenRow, said
from perfprobe.report.section.screen.places import at_most, times
from perfprobe.report.shorten import place
from perfprobe.support.text import printable
from perfprobe.tables.advice import Got
from perfprobe.tables.findings import Findings


def try_lines(findings: Findings) -> Iterator[ScreenRow]:
    """The change, where, and what it saves at most; below it the command, or where there is none the code."""
    row = best_row(findings)
    if row is None:
        return
    yield said("TRY", change_text(row), share=row.share, line=row.line, style="bold")
    if row.try_command is not None:
        yield said("", printable(row.try_command), whole=True)
    elif row.snippet not in change_text(row):
        yield said("", code_text(row))


def has_command(findings: Findings) -> bool:
    """Whether TRY has the command to run next."""
    row = best_row(findings)
    return row is not None and row.try_command is not None


def code_text(row: ChangeRow) -> str:
    """The changed code in one line."""
    first, *others = (line.strip() for line in row.snippet.split("\n"))
    for line in others:
        first += f"{'' if first.endswith(':') else ';'} {line}"
    return printable(first)


def change_text(row: ChangeRow) -> str:
    """`num_workers=2 at train.py:31, at most 1.9x`."""
    at = "" if row.line is None else f" at {place(row.line)}"
    return printable(f"{row.what}{at}{_gain_text(row)}")


def _gain_text(row: ChangeRow) -> str:
    """`, at most 1.9x`; `, 1.4x (1.3 to 1.5)` where operators were measured with the change."""
    if row.gain is None:
        return ""
    if row.got == Got.BOUNDED.value or row.gain_high is None:
        return f", {at_most(row.gain)}"
    return f", {times(row.gain)} ({times(row.gain_low).rstrip('x')} to {times(row.gain_high)})"


def remedy(findings: Findings, rule: str, before: str = ": ") -> tuple[str, ...]:
    """What helps, by a rule, as a piece of a line; nothing where TRY says it."""
    return () if is_best(findings, rule) else (f"{before}{RULES[rule].change}",)
