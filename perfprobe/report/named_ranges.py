"""Ranges set through NVTX, ITT or perfprobe.range: names, where they come from, which are a library's."""

from __future__ import annotations

import re

import numpy as np

from perfprobe.support.text import printable
from perfprobe.support.view import compiled
from perfprobe.tables.columns import Mask
from perfprobe.tables.events import Threads
from perfprobe.tables.findings import Findings
from perfprobe.tables.ranges import RangeKind, RangeRows, RangeSource
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_SOURCES: dict[int, str] = {
    RangeSource.NVTX: "NVTX",
    RangeSource.ITT: "ITT",
    RangeSource.PERFPROBE: "perfprobe.range",
}
_KINDS: dict[int, str] = {RangeKind.FREE: "start/end", RangeKind.MARK: "mark"}
# Domains in which libraries set ranges by the thousand; oneDNN's are `dnnl::primitive::execute` and its like.
_LIBRARIES = re.compile(
    r"(dnnl|onednn|nccl|cu(blas|dnn|fft|solver|sparse|tensor)|cub|cccl|thrust|one?tbb|openmp)", re.IGNORECASE
)
_OPERATOR = re.compile(r"(aten|prims?|c10d|autograd)::")


def ranked_named(rows: RangeRows, top: int, sort: str) -> RangeRows:
    """The first rows, 0 for all; by total time where these rows have not got what is asked for."""
    keys = {"calls": rows.ranges, "mean": rows.mean_ns, "median": rows.median_ns, "p95": rows.p95_ns}
    order = np.argsort(-keys.get(sort, rows.total_ns), kind="stable")
    return rows.take(order[: top or len(order)])


def by_library(trace: Trace, rows: RangeRows) -> Mask:
    """Which rows a library set, not the program: these can be very many, and would hide the others."""
    strings = trace.recording[Strings]
    found = [
        (domain >= 0 and _LIBRARIES.match(strings[domain]) is not None)
        or (name >= 0 and _OPERATOR.match(strings[name]) is not None)
        for domain, name in zip(rows.domain.tolist(), rows.name.tolist(), strict=True)
    ]
    return np.array(found, np.bool_)


def named_in_focus(findings: Findings, rows: RangeRows) -> Mask:
    """Which rows match the focus by name or domain."""
    if findings.focus is None:
        return np.ones(len(rows), np.bool_)
    search, strings = compiled(findings.focus).search, findings.trace.recording[Strings]
    found = [
        any(at >= 0 and search(strings[at]) is not None for at in pair)
        for pair in zip(rows.name.tolist(), rows.domain.tolist(), strict=True)
    ]
    return np.array(found, np.bool_)


def range_names(trace: Trace, rows: RangeRows) -> list[str]:
    """The name of each row."""
    strings = trace.recording[Strings]
    return [printable(strings[name]) if name >= 0 else "(no name)" for name in rows.name.tolist()]


def range_sources(trace: Trace, rows: RangeRows) -> list[str]:
    """`NVTX`, `ITT in domain`, and whether they are marks or may end on another thread."""
    strings = trace.recording[Strings]
    texts = []
    for source, domain, kind in zip(
        rows.source.tolist(), rows.domain.tolist(), rows.kind.tolist(), strict=True
    ):
        within = f"in {printable(strings[domain])}" if domain >= 0 else ""
        how = "" if source == RangeSource.PERFPROBE else _KINDS.get(kind, "")  # it has one way to begin
        texts.append(" ".join(filter(None, (_SOURCES.get(source, "(unknown)"), how, within))))
    return texts


def range_threads(trace: Trace, rows: RangeRows) -> list[str]:
    """On which thread they were, where that is not the main one."""
    recording, is_main = trace.recording, trace.recording.main_thread()
    texts = []
    for thread in rows.thread.tolist():
        if thread < 0:
            texts.append("(several threads)")
            continue
        number = int(recording[Threads].os_thread[thread])
        name = (
            recording.text("python_threads", str(number))
            or recording[Strings][recording[Threads].name[thread]]
        )
        texts.append("" if is_main[thread] else f"(thread {printable(name) or number})")
    return texts
