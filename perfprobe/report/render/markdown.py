"""The first screen as Markdown, for a chat, a ticket or a coding agent: 40 lines, rows with stable ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from perfprobe.report import shorten
from perfprobe.report.rows.advice import change_rows, untold_rows
from perfprobe.report.rows.operators import OperatorRow
from perfprobe.report.section.lines import Lines
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.report.section.screen.advice import change_text, code_text
from perfprobe.report.section.screen.screen import screen_rows
from perfprobe.report.section.screen.shown_rows import shown_rows
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings

LINES = 40
_LONGEST = 160
_ABOVE_ROWS = 3  # a blank line, titles, the line below them
_ID_DIGITS = 8
_MOST_CHANGES = 8


def brief(findings: Findings) -> str:
    """The lines of the first screen as a list, and its rows as a table.

    The id of a line is its label. The id of a row depends on operator, inputs, place and phase, so it is the
    same in every recording of the same program.
    """
    lines = [*_lines(findings), *_changes(findings)]
    title, rows = shown_rows(findings, LINES - len(lines) - _ABOVE_ROWS)
    if rows:
        lines += ["", *_table(title, rows)]
    return "\n".join(lines) + "\n"


def _lines(findings: Findings) -> Iterator[str]:
    head, *others = screen_rows(findings)
    yield f"**{_plain(head.label)}** {_plain(head.text)}"
    yield ""
    for row in others:
        yield f"- `{row.label.lower()}` {_plain(row.text)}" if row.label else f"  {_plain(row.text)}"


def _changes(findings: Findings) -> Iterator[str]:
    """All changes that rules propose, by id, and the rules that cannot tell."""
    for row in change_rows(findings)[:_MOST_CHANGES]:
        how = row.try_command or ("edit" if not row.tries else ", ".join(row.tries))
        code = _code(code_text(row))
        yield f"- `{_plain(row.id)}` {_plain(change_text(row))}: {code}; result: {row.check}; {_plain(how)}"
    untold = [f"{row.rule} ({row.needs})" for row in untold_rows(findings)]
    if untold:
        yield f"- `cannot tell` {', '.join(untold)}"


def _table(title: str, rows: list[OperatorRow]) -> Iterator[str]:
    has_verdict = any(row.verdict for row in rows)
    titles = ["id", title, "operator", "inputs", "line", "phase", *(["verdict"] if has_verdict else [])]
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    lines = Lines([row.ran for row in rows]).cells
    for row, line in zip(rows, lines, strict=True):
        cells = [
            f"`{row_id(row)}`",
            units.percent(row.share),
            _code(operator_text(row, brief=True)),
            _code(shorten.cut(shorten.signature(signature_text(row)), _LONGEST)),
            _code(line.partition("\n")[0]),
            row.ran.phase or units.ABSENT,
            *([row.verdict or units.ABSENT] if has_verdict else []),
        ]
        yield f"| {' | '.join(cells)} |"


def row_id(row: OperatorRow) -> str:
    """An id that depends on operator, inputs, place and phase, but not on the line number."""
    place = row.ran.origin
    where = ("", "") if place is None else (place.file.rpartition("/")[2], place.function)
    parts = (row.operator, row.overload, row.signature, *where, row.ran.phase)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:_ID_DIGITS]


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    escaped = (f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in printable(text))
    return "".join(escaped)


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39)).replace('|', chr(92) + '|')}`"
