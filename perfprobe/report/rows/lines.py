"""Rows of hot lines: operator time of each line of the program."""

from __future__ import annotations

import numpy as np

from perfprobe.models.source_text import SourceText
from perfprobe.models.waiting import misleads
from perfprobe.report.rows.row import measured, named, place, unwritten, values
from perfprobe.support.frozen import frozen
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, HotLines, Hotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import NO_LINE_TEXTS, Line, NoLine

PHASES = ("forward_ns", "backward_ns", "recompute_ns", "other_ns")


@frozen(kw_only=True)
class LineRow:
    """A line, or all operators that have no line for the same reason. text: the source line if readable.

    typical_ns: as for operators. operator, overload, signature: of the row with most time on the line.
    """

    line: Line | None = place()
    text: str | None
    calls: int
    self_ns: int
    typical_ns: int
    forward_ns: int
    backward_ns: int
    recompute_ns: int
    other_ns: int
    gpu_self_ns: int | None
    share: float
    operator: str | None
    overload: str | None
    signature: str | None
    reason: str | None
    source: str | None = unwritten()

    @property
    def misleads(self) -> bool:
        """Whether outliers, or waiting in all calls, are a large part of the sums."""
        return misleads(self.self_ns, self.typical_ns)


def line_rows(findings: Findings, sources: SourceText, lines: HotLines) -> list[LineRow]:
    """A row for each of these lines, in the same order."""
    trace, strings = findings.trace, findings.trace.recording[Strings]
    whole_ns = max(findings[Hotspots].totals.self_ns, 1)
    found = []
    for value in values(lines):
        line = trace.line(value["frame"])
        text = sources.text(line.file, line.line) if line else None
        found.append(
            LineRow(
                line=line,
                text=None if text is None else printable(text.expandtabs()),
                **{name: value[name] for name in ("calls", "self_ns", "typical_ns", *PHASES)},
                gpu_self_ns=measured(value["gpu_self_ns"]),
                share=value["self_ns"] / whole_ns,
                operator=named(strings[value["name"]]),
                overload=named(strings[value["overload"]]),
                signature=trace.signature(value["signature"]),
                reason=named(NO_LINE_TEXTS[NoLine(value["no_line"])]),
                source=text,
            )
        )
    return found


def placed_lines(findings: Findings, sort: str) -> HotLines:
    """The rows that have a line, ordered by time on GPUs or by self time."""
    lines = findings[HotLines]
    placed = lines.take(lines.frame >= 0)
    return placed.take(np.argsort(-placed.gpu_self_ns, kind="stable")) if sort == "gpu" else placed
