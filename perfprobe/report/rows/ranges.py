"""Rows of ranges set through NVTX, ITT or perfprobe.range."""

from __future__ import annotations

import re

import numpy as np

from perfprobe.report.rows.focus import in_focus
from perfprobe.report.rows.row import measured, named, unwritten, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Mask
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranges import RangeKind, RangeRows, RangeSource
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

# Domains in which libraries set thousands of ranges. oneDNN's are `dnnl::primitive::execute` and similar.
_LIBRARIES = re.compile(
    r"(dnnl|onednn|nccl|cu(blas|dnn|fft|solver|sparse|tensor)|cub|cccl|thrust|one?tbb|openmp)", re.IGNORECASE
)
_OPERATOR = re.compile(r"(aten|prims?|c10d|autograd)::")


@frozen(kw_only=True)
class NamedRangeRow:
    """Ranges of one name, domain, source and kind, and their sums; figures as in `RangeRows`.

    on: their thread, None for the main one.
    """

    name: str | None
    domain: str | None
    source: str | None
    kind: str | None
    thread: int | None
    ranges: int
    open: int | None
    total_ns: int | None
    mean_ns: int | None
    median_ns: int | None
    p95_ns: int | None
    longest_ns: int | None
    on: str | None = unwritten()


_FIGURES = ("open", "total_ns", "mean_ns", "median_ns", "p95_ns", "longest_ns")


def named_range_rows(findings: Findings, rows: RangeRows) -> list[NamedRangeRow]:
    """A row for each of these named ranges, in the same order."""
    recording = findings.trace.recording
    strings, is_main = recording[Strings], recording.main_thread()
    return [
        NamedRangeRow(
            name=named(strings[row["name"]]),
            domain=named(strings[row["domain"]]),
            source=word(RangeSource, row["source"]),
            kind=word(RangeKind, row["kind"]),
            thread=measured(row["thread"]),
            ranges=row["ranges"],
            **{name: measured(row[name]) for name in _FIGURES},
            on=None if is_main[row["thread"]] else _thread(recording, row["thread"]),
        )
        for row in values(rows)
    ]


def named_ranges_in_focus(findings: Findings) -> RangeRows:
    """Rows in focus, most time first."""
    return in_focus(findings, findings.get(RangeRows) or RangeRows.empty())


def ranked_named(rows: RangeRows, top: int, sort: str) -> RangeRows:
    """The first `top` rows, 0 for all; by total time if these rows do not have the column to sort by."""
    keys = {"calls": rows.ranges, "mean": rows.mean_ns, "median": rows.median_ns, "p95": rows.p95_ns}
    order = np.argsort(-keys.get(sort, rows.total_ns), kind="stable")
    return rows.take(order[: top or len(order)])


def by_library(findings: Findings, rows: RangeRows) -> Mask:
    """Returns which rows a library set. There can be so many that they would hide the program's own."""
    strings = findings.trace.recording[Strings]
    found = [
        (domain >= 0 and _LIBRARIES.match(strings[domain]) is not None)
        or (name >= 0 and _OPERATOR.match(strings[name]) is not None)
        for domain, name in zip(rows.domain.tolist(), rows.name.tolist(), strict=True)
    ]
    return np.array(found, np.bool_)


def _thread(recording: Recording, thread: int) -> str:
    if thread < 0:
        return "several threads"
    threads, strings = recording[Threads], recording[Strings]
    number = int(threads.os_thread[thread])
    name = recording.text("python_threads", str(number)) or strings[threads.name[thread]]
    return f"thread {name or number}"
