"""The lines for someone in a hurry: the hottest operator, and the hottest Python where it takes the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfprobe.report import shorten
from perfprobe.report.rows.busiest import busiest, longest_wait
from perfprobe.report.rows.function_times import has_few_samples, threads_ns
from perfprobe.report.rows.operators import OperatorRow, rows_of
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.figures import MARK
from perfprobe.report.section.function_columns import names
from perfprobe.report.section.lines import line_column
from perfprobe.report.section.operator_columns import operator_text, signature_text
from perfprobe.support import units
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import Calling
from perfprobe.tables.trace import Trace

LONGEST = 160  # cells of the inputs
_MINOR = 0.5  # of the wall time: with more of it, operators are what counts
_NOTEWORTHY = 0.1  # of the wall time
_FAR_MORE = 1.5  # times the time of the first row: a sum that ought to be explained
_IMPORTS = ("_bootstrap.py:", "_bootstrap_external.py:")


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
    """The function in which most time passed outside of operators, or in which the main thread waited longer.

    Only where that is much, and operators are not most of all; waiting only where they are next to nothing.
    Imports do not count.
    """
    calling, hotspots, wall_ns = findings.get(Calling), findings.get(Hotspots), findings.wall_ns
    if calling is None or not wall_ns or has_few_samples(calling):
        return
    if hotspots is not None and hotspots.focus is not None:
        return
    operators_ns = 0 if hotspots is None else hotspots.totals.busiest_ns
    if operators_ns > _MINOR * wall_ns:
        return
    place, busy_ns = _busiest(findings.trace, calling)
    waiting, waiting_ns = "", 0
    if operators_ns < _NOTEWORTHY * wall_ns:
        waiting, waiting_ns = _waiting(findings.trace, calling)
    if max(busy_ns, waiting_ns) < _NOTEWORTHY * wall_ns:
        return
    share = f"{units.percent(busy_ns / wall_ns)} of wall"
    if busy_ns > wall_ns:  # on several threads
        share = f"{units.percent(busy_ns / max(threads_ns(calling), busy_ns))} of all threads' Python time"
    told = f"{place}: {share}, in no operator."
    if waiting_ns > busy_ns:
        told = f"main thread waits {units.percent(waiting_ns / wall_ns)} of wall in {waiting}."
    yield Paragraph(f"Hottest Python: {told}", "bold")


def _busiest(trace: Trace, calling: Calling) -> tuple[str, int]:
    """The function that ran longest in no operator, and how long; "", 0 where none did."""
    found = busiest(trace, calling)
    for name, (_, busy_ns) in zip(names([function for function, _ in found]), found, strict=True):
        if not name.startswith(_IMPORTS):
            return name, busy_ns
    return "", 0


def _waiting(trace: Trace, calling: Calling) -> tuple[str, int]:
    """`sleeper at truth.py:12`, where the main thread waited longest, and how long; "", 0 for none known."""
    found = longest_wait(trace, calling)
    if found is None:
        return "", 0
    where, _, what = names([found.function])[0].rpartition(" ")
    return f"{what} at {where}", found.time_ns
