"""Summary lines: the hottest operator, and the hottest Python code if that takes most of the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfprobe.models.waiting import misleads
from perfprobe.report import shorten
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.named import is_nearly_all
from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.figures import MARK
from perfprobe.report.section.imports import imports_text
from perfprobe.report.section.lines import line_column
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis, HottestOperator, Outside
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.judgements import Starved
from perfprobe.tables.python import CallStructure
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line

LONGEST = 160  # cells of the inputs


class HottestRow(NamedTuple):
    """The operator that is named first. share: its share as text.

    larger: a note on a row with a larger sum, or "".
    """

    row: OperatorRow
    share: str
    larger: str


def hottest_row(findings: Findings) -> HottestRow | None:
    """The operator of the whole run that is named first, and a note on another one."""
    found = findings.get(HottestOperator)
    if found is None:
        return None
    hotspots = findings[Hotspots]
    at = [found.row] if found.other < 0 else [found.row, found.other]
    first, *others = rows_of(findings, hotspots.rows.take(np.array(at)))
    if found.by_sum:
        share = f"{units.percent(first.share)} of operator time, {_long_calls(first)}"
        (other,) = others
        note = f"Without such calls: {_place(other)}: {_share(other, hotspots)}."
        return HottestRow(first, share, note)
    larger = ""
    for other in others:
        detail = f"{units.percent(other.share)} of operator time, {_long_calls(other)}"
        larger = f"Larger sum, dominated by outliers: {_place(other)}: {detail}."
    return HottestRow(first, _share(first, hotspots), larger)


def hottest(findings: Findings) -> Iterator[Block]:
    """A line with operator, inputs, line, phase and share of the first row."""
    found = hottest_row(findings)
    if found is None:
        return
    yield Paragraph(f"Hottest: {_place(found.row)}, {found.row.ran.phase}: {found.share}.", "bold")
    if found.larger:
        yield Paragraph(found.larger)


def _place(row: OperatorRow) -> str:
    known = row.signature is not None
    detail = f" {shorten.cut(shorten.signature(signature_text(row)), LONGEST)}" if known else ""
    place = line_column([replace(row.ran, forward=None)]).cells[0].replace("\n", " ")
    return f"{operator_text(row, brief=True)}{detail}, {place}"


def _share(row: OperatorRow, hotspots: Hotspots) -> str:
    """The share of operator time; if delayed calls are a large part of it, of the time without them."""
    typical_ns, whole_ns = int(hotspots.rows.typical_ns.sum()), hotspots.totals.self_ns
    share = f"{units.percent(row.share)} of operator time"
    if not (row.ran.misleads or misleads(whole_ns, typical_ns)):
        return share
    typical = units.percent(row.ran.typical_ns / max(typical_ns, 1))
    mark = f"; {MARK}{share}, {_long_calls(row)}" if row.ran.misleads else ""
    return f"{typical} of typical operator time{mark}"


def _long_calls(row: OperatorRow) -> str:
    if not row.ran.long_calls:
        cpu_ns = row.ran.recorded.get("cpu_self_ns")
        if cpu_ns is not None:
            return f"the calling thread ran for {units.duration(cpu_ns)} of it"
        return "too few calls to tell whether they were delayed"
    calls = f"{row.ran.long_calls:,} of {row.ran.calls:,} calls"
    return f"{calls} over 3 times as long as the usual {units.duration(row.ran.usual_ns)}"


def hottest_python(findings: Findings) -> Iterator[Block]:
    """Yields a line for each place with much time outside of operators."""
    found = findings.get(Outside)
    for each in () if found is None else found.found:
        yield Paragraph(f"Hottest Python: {outside_text(findings, each)}.", "bold")


def of_run(findings: Findings) -> str:
    """What shares of a run without steps are of."""
    return "of wall" if findings.get(Starved) is None else "of its running time"


def imported_text(findings: Findings) -> str:
    """Which imports took how long: their own time where shares are of that."""
    rows = import_rows(findings.trace, findings[CallStructure])
    return imports_text(rows, own=findings.get(Starved) is not None)


def outside_text(findings: Findings, each: Diagnosis) -> str:
    """How much time was spent outside of operators, and where."""
    trace, share = findings.trace, f"{units.percent(each.share)} {of_run(findings)}"
    if each.cause is Cause.IMPORTS:
        return f"imports, {share}: {imported_text(findings)}"
    called = printable(trace.recording[Strings][each.called]) if each.called >= 0 else ""
    at = _at(each, trace.line(each.frame))
    if each.cause is Cause.COMPILE:
        return f"torch.compile's own work, {share}, {at}"
    if each.cause is Cause.WAITING:
        return f"main thread waits {share}, {at}{f' ({called})' if called else ''}"
    if each.base is not Base.RUN:
        share = f"{units.percent(each.share)} of all threads' Python time"
    return f"{share} outside of operators, {at}{f' in {called}' if called else ''}"


def _at(each: Diagnosis, line: Line | None) -> str:
    """The place: `at train.py:9 in main`; with other lines too `in main: 12.0 % at train.py:9`."""
    if line is None:
        return ""
    function, place = printable(line.function), f"at {shorten.place(line)}"
    if is_nearly_all(each.line_ns, each.time_ns):
        return f"{place} in {function}"
    return f"in {function}: {units.percent(each.line_ns / each.time_ns * each.share)} {place}"
