"""Which rows of the GPU tables are shown, and the cells that all of these tables have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from perfprobe.report.base import Layout
from perfprobe.report.cells import HasLines, durations, line_column
from perfprobe.report.columns import Column
from perfprobe.report.operator_columns import NARROW, PHASES
from perfprobe.report.ranking import focus_text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.support.view import compiled
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table
from perfprobe.tables.findings import Findings
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import SHORT_PHASES, Line, Phase, Trace, shown_name

PART = "+"  # beside sums that lack what had no times


class HasSite(HasLines, Protocol):
    """Rows of which operator, lines and phase are known."""

    @property
    def operator(self) -> Int32:
        """String id, -1 outside of all."""

    @property
    def phase(self) -> Int8:
        """A `Phase`."""

    def __len__(self) -> int: ...


SomeRows = TypeVar("SomeRows", bound=Table)


def ranked(rows: SomeRows, total_ns: Int64, count: Int64, layout: Layout, usual: int) -> SomeRows:
    """The first rows by time, or by what `--sort` asks for where these rows have it."""
    keys = {"calls": count, "mean": total_ns / np.maximum(count, 1)}
    order = np.argsort(-keys.get(layout.sort, total_ns), kind="stable")
    return rows.take(order[: layout.most(usual) or len(order)])


def sorted_by(layout: Layout, count: str) -> str:
    """What `ranked` goes by, in words."""
    return {"calls": count, "mean": "mean time"}.get(layout.sort, "time")


def rows_said(findings: Findings, whole: int, found: int, shown: int, by: str) -> str:
    """`8 of 31 rows by time`, and of how many a focus chose them."""
    number = "1 row" if found == 1 else f"{found:,} rows"
    focus = "" if findings.focus is None else f", focus {focus_text(findings.focus)} of {whole:,}"
    return f"{f'{shown:,} of {number}' if shown < found else number} by {by}{focus}"


def chosen(
    findings: Findings, rows: SomeRows, focus: Mask, count: str, layout: Layout, usual: int
) -> tuple[SomeRows, str] | None:
    """The rows of a table, and what its heading says of them; None where nothing is in focus.

    count: the column of how many there are, which is what they are called too.
    """
    found = rows.take(focus)
    if len(found) == 0:
        return None
    columns = found.columns()
    shown = ranked(found, columns["total_ns"], columns[count], layout, usual)
    return shown, rows_said(findings, len(rows), len(found), len(shown), sorted_by(layout, count))


def in_focus(findings: Findings, rows: HasSite, *others: tuple[Int32, Callable[[int], str | None]]) -> Mask:
    """Which rows match the focus: by operator, line, phase or other texts: ids, and the text of each."""
    if findings.focus is None:
        return np.ones(len(rows), np.bool_)
    search, trace = compiled(findings.focus).search, findings.trace
    strings = trace.recording[Strings]
    texts: list[tuple[Int32 | Int8, Callable[[int], str | None]]] = [
        (rows.operator, lambda at: strings[at] if at >= 0 else None),
        (rows.frame, lambda at: _place(trace.line(at))),
        (rows.forward_frame, lambda at: _place(trace.line(at))),
        (rows.phase, lambda at: PHASES[Phase(at)]),
        (rows.phase, lambda at: SHORT_PHASES[Phase(at)]),
        *others,
    ]
    found = np.zeros(len(rows), np.bool_)
    for ids, text_of in texts:
        distinct, place = np.unique(ids, return_inverse=True)
        matches = [(text := text_of(at)) is not None and bool(search(text)) for at in distinct.tolist()]
        found |= np.array(matches, np.bool_)[place.reshape(-1)]
    return found


def _place(line: Line | None) -> str | None:
    return None if line is None else f"{line.file}:{line.line} in {line.function}"


def timed(total_ns: Int64, untimed: Int64) -> list[str]:
    """Sums of times, marked where part of the rows had none."""
    marks = [PART if some else "" for some in (untimed > 0).tolist()]
    if not any(marks):
        return durations(total_ns)
    cells = zip(durations(total_ns), marks, (total_ns >= 0).tolist(), strict=True)
    return [f"{cell}{mark or ' '}" if known else f"{cell} " for cell, mark, known in cells]


def mean_ns(total_ns: Int64, timed_rows: Int64) -> Int64:
    """-1 where nothing was timed."""
    return np.where((total_ns >= 0) & (timed_rows > 0), total_ns // np.maximum(timed_rows, 1), -1)


def operator_texts(trace: Trace, rows: HasSite, overload: Int32 | None, layout: Layout) -> list[str]:
    """The operators, with their overloads where they are known."""
    strings = trace.recording[Strings]
    overloads = [-1] * len(rows) if overload is None else overload.tolist()
    texts = []
    for name, more in zip(rows.operator.tolist(), overloads, strict=True):
        text = shown_name(strings[name], narrow=layout.width < NARROW) if name >= 0 else units.ABSENT
        texts.append(printable(f"{text}.{strings[more]}" if more >= 0 and strings[more] else text))
    return texts


def site_columns(
    trace: Trace, rows: HasSite, operators: Sequence[str], layout: Layout, *middle: Column
) -> list[Column]:
    """Operator, what is known besides, line and phase."""
    words = SHORT_PHASES if layout.width < NARROW else PHASES
    phases = [words[Phase(phase)] for phase in rows.phase.tolist()]
    return [
        Column("operator", operators, 4, least=8, wish=14),
        *middle,
        line_column(trace, rows),
        Column("phase", phases, 3, style="dim"),
    ]
