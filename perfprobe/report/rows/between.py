"""Rows of the time between operators, by place in the program."""

from __future__ import annotations

from typing import Any

from perfprobe.models.imports import called_from_user, function_of, imported
from perfprobe.report.rows.focus import in_focus
from perfprobe.report.rows.row import place, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.between import Between, Doing
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import Line, Trace

_FEWEST_LOOKS = 3  # with fewer samples an interval gets no description


@frozen(kw_only=True)
class IntervalRow:
    """kind: `between`, or `start` and `end` of the time before the first operator and after the last one.

    line, to: lines of the function that contains both operators, before and after. caller: the line that
    called it. doing: what samples show most: "import", "wait" or "run"; None if there are too few samples.
    doing_in: the module it imported, or the function. doing_share: its share of the samples' time.
    """

    kind: str
    line: Line | None = place()
    to: Line | None = place("to_")
    caller: Line | None = place("caller_")
    count: int
    total_ns: int
    mean_ns: float
    longest_ns: int
    share: float | None
    doing: str | None
    doing_in: str | None
    doing_share: float | None


def interval_rows(findings: Findings, top: int) -> list[IntervalRow]:
    """Start and end of the run if known, and the `top` intervals with most time in total, 0 for all.

    With a focus only those at matching lines.
    """
    found = findings[Between]
    between = in_focus(findings, found.rows)
    outer = {"start": found.before_ns, "end": found.after_ns}
    none = dict.fromkeys(("frame", "to_frame", "caller"), -1)
    rows = [
        _row(findings, kind, {**none, **doing, "count": 1, "total_ns": time_ns, "longest_ns": time_ns})
        for (kind, time_ns), doing in zip(outer.items(), values(found.outer), strict=True)
        if time_ns is not None and findings.focus is None
    ]
    return [*rows, *(_row(findings, "between", value) for value in values(between.take(slice(top or None))))]


def _row(findings: Findings, kind: str, value: dict[str, Any]) -> IntervalRow:
    trace, wall_ns = findings.trace, findings.wall_ns
    doing = Doing(value["doing"]) if value["looks"] >= _FEWEST_LOOKS else Doing.UNKNOWN
    return IntervalRow(
        kind=kind,
        line=trace.line(value["frame"]),
        to=trace.line(value["to_frame"]),
        caller=trace.line(value["caller"]),
        count=value["count"],
        total_ns=value["total_ns"],
        mean_ns=value["total_ns"] / value["count"],
        longest_ns=value["longest_ns"],
        share=value["total_ns"] / wall_ns if wall_ns else None,
        doing=None if doing is Doing.UNKNOWN else doing.name.lower(),
        doing_in=_doing_in(trace, doing, value["stack"], value["body"]),
        doing_share=None if doing is Doing.UNKNOWN else value["doing_ns"] / max(value["sampled_ns"], 1),
    )


def _doing_in(trace: Trace, doing: Doing, stack: int, body: int) -> str | None:
    """The imported module, the running function, or the function in which the program's call waits."""
    python = trace.python
    if doing is Doing.UNKNOWN or python is None:
        return None
    if doing is Doing.IMPORT:
        return imported(trace, python, stack, body)[0]
    called = called_from_user(trace, python, stack) if doing is Doing.WAIT else None
    return function_of(trace, stack if called is None else called)
