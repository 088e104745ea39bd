"""The lines for someone in a hurry: the hottest operator, and the hottest Python where it takes the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfprobe.report import shorten
from perfprobe.report.rows.busiest import Passed, busiest, longest_wait
from perfprobe.report.rows.function_times import has_few_samples, threads_ns
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.figures import MARK
from perfprobe.report.section.imports import imports_text
from perfprobe.report.section.lines import line_column
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import Calling

LONGEST = 160  # cells of the inputs
_MINOR = 0.5  # of the wall time: with more of it, operators are what counts
_NOTEWORTHY = 0.1  # of the wall time
_FAR_MORE = 1.5  # times the time of the first row: a sum that ought to be explained


def hottest(findings: Findings) -> Iterator[Block]:
    """Operator, inputs, line, phase and share of the first row; only of a whole table of full rows.

    With what its sum would be without calls that mislead, and the row whose sum is larger only by such calls.
    """
    hotspots = findings.get(Hotspots)
    if hotspots is None or hotspots.group != "row" or hotspots.focus is not None or len(hotspots.rows) == 0:
        return
    self_ns = hotspots.rows.self_ns
    first, largest = rows_of(findings, hotspots.rows.take(np.array([0, self_ns.argmax()])))
    yield Paragraph(f"Hottest: {_place(first)}, {first.ran.phase}: {_share(first)}.", "bold")
    if largest.ran.self_ns > _FAR_MORE * first.ran.self_ns:
        yield Paragraph(f"Larger only by its longest calls: {_place(largest)}: {_share(largest)}.")


def _place(row: OperatorRow) -> str:
    told = shorten.cut(shorten.signature(signature_text(row)), LONGEST)
    (place,) = line_column([replace(row.ran, forward=None)]).cells
    return f"{operator_text(row, brief=True)} {told}, {place}"


def _share(row: OperatorRow) -> str:
    share = f"{units.percent(row.share)} of operator time"
    if not row.ran.misleads:
        return share
    typical = units.percent(row.share * row.ran.typical_ns / max(row.ran.self_ns, 1))
    calls = f"{row.ran.long_calls or 0:,} of {row.ran.calls:,} calls"
    return f"{MARK}{share}, {typical} with the median in the place of {calls}"


def hottest_python(findings: Findings) -> Iterator[Block]:
    """Where most time passed outside of operators: in imports, in a function, or as the main thread waited.

    Only where that is much, and operators are not most of all; waiting only where they are next to nothing.
    Beside imports, which a longer run would not have more of, also what comes next.
    """
    calling, hotspots, wall_ns = findings.get(Calling), findings.get(Hotspots), findings.wall_ns
    if calling is None or not wall_ns or has_few_samples(calling):
        return
    if hotspots is not None and hotspots.focus is not None:
        return
    operators_ns = 0 if hotspots is None else hotspots.totals.busiest_ns
    if operators_ns > _MINOR * wall_ns:
        return
    imported, *others = _imports(findings, wall_ns), _busiest(findings, wall_ns)
    if operators_ns < _NOTEWORTHY * wall_ns:
        others.append(_waiting(findings, wall_ns))
    longest = max(others)
    told = [imported, longest] if imported > longest else [longest]
    for time_ns, text in told:
        if time_ns >= _NOTEWORTHY * wall_ns:
            yield Paragraph(f"Hottest Python: {text}.", "bold")


def _busiest(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """How long the function ran that ran longest in no operator, and what to say of it; 0 where none did."""
    calling = findings[Calling]
    found = busiest(findings.trace, calling)
    if found is None:
        return 0, ""
    whole_ns, of = wall_ns, "of wall"
    if found.time_ns > wall_ns:  # on several threads
        whole_ns, of = max(threads_ns(calling), found.time_ns), "of all threads' Python time"
    share = f"{units.percent(found.time_ns / whole_ns)} {of}"
    called = f" in {printable(found.called)}" if found.called else ""
    text = f"{printable(found.line.function)}, {share} in no operator{_at(found, whole_ns)}{called}"
    return found.time_ns, text


def _waiting(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """How long the main thread waited at one line, and what to say of it."""
    found = longest_wait(findings.trace, findings[Calling])
    if found is None:
        return 0, ""
    called = f" ({printable(found.called)})" if found.called else ""
    share = units.percent(found.time_ns / wall_ns)
    function = printable(found.line.function)
    return found.time_ns, f"main thread waits {share} of wall in {function}{_at(found, wall_ns)}{called}"


def _at(found: Passed, whole_ns: int) -> str:
    """Where, and how much of the time: `, at train.py:9`, or `; 12.0 % at train.py:9`."""
    file = printable(found.line.file)
    place = f"at {shorten.file_names([file])[file]}:{found.line.line}"
    return (
        f", {place}"
        if found.line_ns == found.time_ns
        else f"; {units.percent(found.line_ns / whole_ns)} {place}"
    )


def _imports(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """How long imports of libraries took, and what to say of them."""
    rows = import_rows(findings.trace, findings[Calling])
    time_ns = sum(row.time_ns for row in rows)
    return time_ns, f"imports, {units.percent(time_ns / wall_ns)} of wall: {imports_text(rows)}"
