"""The place of a call that launched work on a GPU, or waited for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.row import named, place
from perfprobe.support.frozen import frozen
from perfprobe.tables.trace import NO_LINE_TEXTS, Line, NoLine, Phase, Trace


@frozen(kw_only=True)
class Site:
    """The place of a call.

    line: that of the call's own Python. forward: that of the forward call. reason: why there is no line.
    linked: whether the call was recorded.
    """

    line: Line | None = place()
    forward: Line | None = place("forward_")
    phase: str
    reason: str | None
    linked: bool


def site(trace: Trace, value: Mapping[str, Any]) -> Site:
    """The place for a row of a table with `frame`, `forward_frame`, `phase`, `no_line` and `linked`."""
    return Site(
        line=trace.line(value["frame"]),
        forward=trace.line(value["forward_frame"]),
        phase=Phase(value["phase"]).name.lower(),
        reason=named(NO_LINE_TEXTS[NoLine(value["no_line"])]),
        linked=value["linked"] == 1,
    )
