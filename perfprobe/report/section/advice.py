"""What to change: each change with its code, what it saves at most, how it is checked and tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.advice import ChangeRow, UntoldRow, change_rows, untold_rows
from perfprobe.report.rows.choice import Choice
from perfprobe.report.section.block import Block, Heading, Paragraph, Section
from perfprobe.report.section.screen.advice import change_text
from perfprobe.report.section.screen.places import whole_percent
from perfprobe.report.section.screen.screen import KINDS, STEP_KINDS
from perfprobe.support.text import printable
from perfprobe.tables.advice import Advice
from perfprobe.tables.findings import Findings
from perfprobe.tables.steps import StepTimes

_TITLE = "What to change"


def advice_tables(findings: Findings) -> dict[str, Sequence[Any]]:
    """`advice`, and `advice_unknown` of the rules that cannot tell."""
    if Advice not in findings:
        return {}
    return {"advice": change_rows(findings), "advice_unknown": untold_rows(findings)}


def advice(findings: Findings, choice: Choice) -> Iterator[Block]:
    """All changes, most share first; nothing without steps."""
    if Advice not in findings:
        return
    rows, untold = change_rows(findings), untold_rows(findings)
    shown = rows[: choice.top or None]
    more = f"{len(shown):,} of {len(rows):,}" if len(shown) < len(rows) else ""
    yield Heading(_TITLE, more)
    if not rows:
        yield Paragraph("No rule proposes a change.", indent=2)
    for number, row in enumerate(shown, 1):
        yield from _change(number, row)
    yield from (Paragraph(text, indent=2) for text in _unknown(untold))


def _change(number: int, row: ChangeRow) -> Iterator[Block]:
    share = f"{whole_percent(row.share)}, {row.got}"
    yield Paragraph(f"{number}. {row.rule}: {change_text(row)} ({share})", style="bold", indent=2)
    for text in map(printable, row.snippet.split("\n")):
        yield Paragraph(text.lstrip(), style="cyan", indent=5 + len(text) - len(text.lstrip()))
    yield Paragraph(f"result: {row.check}. {row.caution}", indent=5)
    how = "edit the program: it cannot be tried from outside" if not row.tries else row.try_command
    yield Paragraph(printable(f"try: {how or ', '.join(row.tries)}"), indent=5)


def _unknown(untold: Sequence[UntoldRow]) -> Iterator[str]:
    """`cannot tell: bf16, denormals: needs perfprobe bench`, a line for each need."""
    for needs in dict.fromkeys(row.needs for row in untold):
        yield f"cannot tell: {', '.join(row.rule for row in untold if row.needs == needs)}: needs {needs}"


ADVICE = Section(
    "advice",
    (StepTimes,),
    advice,
    shows=tuple(dict.fromkeys((*KINDS, *STEP_KINDS))),
    titles=(_TITLE,),
    means="What to change in the program, at which line: the changed code, how much of a step it can save at "
    "most, how its result is checked, and the command that tries it. And the rules that cannot tell, with "
    "what they need.",
    json={
        "advice": "The section *advice*: each change, most share first.",
        "advice_unknown": "The rules that cannot tell, each with what it needs.",
    },
)
