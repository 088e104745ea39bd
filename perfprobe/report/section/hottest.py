"""Summary lines: the hottest operator, and the hottest Python code if that takes most of the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfprobe.models.waiting import HeldUp, held_up
from perfprobe.report import shorten
from perfprobe.report.rows.busiest import Passed, busiest, longest_compile, longest_wait
from perfprobe.report.rows.function_times import has_few_samples, threads_ns
from perfprobe.report.rows.imports import import_rows
from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.rows.ranking import misleads
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.figures import MARK
from perfprobe.report.section.imports import imports_text
from perfprobe.report.section.lines import line_column
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import Calling
from perfprobe.tables.trace import Phase

LONGEST = 160  # cells of the inputs
_MINOR = 0.5  # if operators take a larger share of the wall time, Python is not mentioned
_NOTEWORTHY = 0.1  # Python is mentioned from this share of the wall time on
_NEARLY_ALL = 0.9  # if one line has this share of a function's time, other lines are not mentioned
_FAR_MORE = 1.5  # a row with more than this times the first row's sum is explained


class HottestOperator(NamedTuple):
    """The first row of operators. share: its share as text.

    larger: a note on a row with a larger sum, or "". by_sum: whether it comes first because long calls took
    nearly all operator time; `larger` is then about the first row by typical time.
    """

    row: OperatorRow
    share: str
    larger: str
    by_sum: bool = False


def long_calls_lead(findings: Findings) -> bool:
    """Whether long calls took nearly all operator time: rows by typical time are then a small rest of it.

    Not if threads are known to have waited for a processor, which alone makes calls long.
    """
    hotspots = findings.get(Hotspots)
    if hotspots is None or held_up(findings.trace) is HeldUp.YES:
        return False
    rows = hotspots.rows
    excess_ns = int((rows.self_ns - rows.typical_ns)[rows.long_calls > 0].sum())
    return excess_ns > _NEARLY_ALL * max(hotspots.totals.self_ns, 1)


def hottest_operator(findings: Findings) -> HottestOperator | None:
    """The row with most typical time; None if the table has a focus or another grouping.

    A row whose sum is larger, but only because of outliers, is named too.
    """
    hotspots = findings.get(Hotspots)
    if hotspots is None or hotspots.group != "row" or hotspots.focus is not None or len(hotspots.rows) == 0:
        return None
    rows = hotspots.rows
    computes = rows.phase != Phase.COMPILE  # operators that are traced compute nothing
    rows = rows.take(computes) if bool(computes.any()) else rows
    first, largest = rows_of(findings, rows.take(np.array([0, rows.self_ns.argmax()])))
    if long_calls_lead(findings) and largest.ran.long_calls and largest.ran.self_ns > first.ran.self_ns:
        share = f"{units.percent(largest.share)} of operator time, {_long_calls(largest)}"
        note = f"Without such calls: {_place(first)}: {_share(first, hotspots)}."
        return HottestOperator(largest, share, note, by_sum=True)
    larger = ""
    if largest.ran.self_ns > _FAR_MORE * first.ran.self_ns:
        detail = f"{units.percent(largest.share)} of operator time, {_long_calls(largest)}"
        larger = f"Larger sum, dominated by outliers: {_place(largest)}: {detail}."
    return HottestOperator(first, _share(first, hotspots), larger)


def hottest(findings: Findings) -> Iterator[Block]:
    """A line with operator, inputs, line, phase and share of the first row."""
    found = hottest_operator(findings)
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
    """Yields a line for each of `longest_python`."""
    for each in longest_python(findings):
        yield Paragraph(f"Hottest Python: {each.text}.", "bold")


class LongPython(NamedTuple):
    """Time outside of operators at one place, and a text about it. once: whether a longer run has no more."""

    time_ns: int
    text: str
    once: bool = False


def longest_python(findings: Findings) -> Iterator[LongPython]:
    """Yields where most time outside of operators was spent: in a function, or with the main thread waiting.

    Imports and torch.compile come first if they took longer, because a longer run would not have more of
    them. Nothing if the time is small, or if operators take most of the run. Waiting is named only if it took
    longer than operators, or if these are negligible.
    """
    calling, hotspots, wall_ns = findings.get(Calling), findings.get(Hotspots), findings.wall_ns
    if calling is None or not wall_ns or has_few_samples(calling) or findings.focus is not None:
        return
    operators_ns = 0.0 if hotspots is None else _computing_ns(findings, hotspots)
    if operators_ns > _MINOR * wall_ns:
        return
    others, waiting = [LongPython(*_busiest(findings, wall_ns))], LongPython(*_waiting(findings, wall_ns))
    if operators_ns < max(_NOTEWORTHY * wall_ns, waiting.time_ns):
        others.append(waiting)
    longest = max(others)
    found = (_imports(findings, wall_ns), _compile(findings, wall_ns))
    once = sorted((LongPython(*each, once=True) for each in found), reverse=True)
    for each in [*(each for each in once if each.time_ns > longest.time_ns), longest]:
        if each.time_ns >= _NOTEWORTHY * wall_ns:
            yield each


def _computing_ns(findings: Findings, hotspots: Hotspots) -> float:
    """Operator time of the busiest thread, without what torch.compile traces, at the rate at which it was
    recorded.
    """
    wall_ns, recorded_ns = findings.wall_ns, findings.operators_wall_ns
    rate = wall_ns / recorded_ns if wall_ns and recorded_ns else 1
    compile_ns = int(hotspots.ungrouped.self_ns[hotspots.ungrouped.phase == Phase.COMPILE].sum())
    return max(hotspots.totals.busiest_ns - compile_ns, 0) * rate


def _busiest(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """The longest time of a function outside of operators, in ns, and its text; 0 if none ran."""
    calling = findings[Calling]
    found = busiest(findings.trace, calling)
    if found is None:
        return 0, ""
    whole_ns, of = wall_ns, "of wall"
    if found.time_ns > wall_ns:  # possible on several threads
        whole_ns, of = max(threads_ns(calling), found.time_ns), "of all threads' Python time"
    called = f" in {printable(found.called)}" if found.called else ""
    share = f"{units.percent(found.time_ns / whole_ns)} {of} outside of operators"
    return found.time_ns, f"{share}, {_at(found, whole_ns)}{called}"


def _waiting(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """Returns how long the main thread waited at one line, in ns, and a text about it."""
    found = longest_wait(findings.trace, findings[Calling])
    if found is None:
        return 0, ""
    called = f" ({printable(found.called)})" if found.called else ""
    share = f"main thread waits {units.percent(found.time_ns / wall_ns)} of wall"
    return found.time_ns, f"{share}, {_at(found, wall_ns)}{called}"


def _at(found: Passed, whole_ns: int) -> str:
    """The place: `at train.py:9 in main`; with other lines too `in main: 12.0 % at train.py:9`."""
    function, place = printable(found.line.function), f"at {shorten.place(found.line)}"
    if found.line_ns >= _NEARLY_ALL * found.time_ns:
        return f"{place} in {function}"
    return f"in {function}: {units.percent(found.line_ns / whole_ns)} {place}"


def _compile(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """Returns how long torch.compile worked, in ns, and a text about it."""
    found = longest_compile(findings.trace, findings[Calling])
    if found is None:
        return 0, ""
    share = f"torch.compile's own work, {units.percent(found.time_ns / wall_ns)} of wall"
    return found.time_ns, f"{share}, {_at(found, wall_ns)}"


def _imports(findings: Findings, wall_ns: int) -> tuple[int, str]:
    """Returns how long imports of libraries took, in ns, and a text about them."""
    rows = import_rows(findings.trace, findings[Calling])
    time_ns = sum(row.time_ns for row in rows)
    return time_ns, f"imports, {units.percent(time_ns / wall_ns)} of wall: {imports_text(rows)}"
