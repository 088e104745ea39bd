"""The table of waits: where the program stood still until a GPU was done."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from perfprobe.report import columns
from perfprobe.report.base import Layout
from perfprobe.report.cells import counts, durations, percents
from perfprobe.report.columns import Column
from perfprobe.report.gpu.cells import (
    chosen,
    in_focus,
    mean_ns,
    operator_texts,
    site_columns,
)
from perfprobe.report.paragraph import heading
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.columns import Mask
from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu import WaitKind
from perfprobe.tables.gpu_findings import WaitRows
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

TOP = 8
KINDS: dict[int, str] = {
    WaitKind.UNKNOWN: "unknown",
    WaitKind.EVENT: "an event",
    WaitKind.STREAM_WAIT_EVENT: "stream for an event",
    WaitKind.STREAM: "a stream",
    WaitKind.CONTEXT: "the whole GPU",
    WaitKind.PAGEABLE_COPY: "a pageable copy",
}


def waits(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The table; nothing where nothing waited."""
    gpu, trace = findings.gpu, findings.trace
    assert gpu is not None
    rows = gpu.waits
    found = chosen(findings, rows, waits_in_focus(findings, rows), "waits", layout, TOP)
    if found is None:
        return
    shown, said = found
    yield heading("GPU waits", f"{said}; the program waited {_in_all(findings, rows)}", layout.width)
    yield columns.table(columns.fit(_columns(findings, trace, shown, layout), layout.width))


def waits_in_focus(findings: Findings, rows: WaitRows) -> Mask:
    """Which rows match the focus, by the call that waited too."""
    strings = findings.trace.recording[Strings]
    return in_focus(findings, rows, (rows.call, lambda at: strings[at] if at >= 0 else None))


def program_waited_ns(rows: WaitRows) -> int:
    """How long threads of the program waited; a stream that waits for an event keeps nobody."""
    own = (rows.kind != WaitKind.STREAM_WAIT_EVENT) & (rows.total_ns >= 0)
    return int(rows.total_ns[own].sum())


def _in_all(findings: Findings, rows: WaitRows) -> str:
    waited_ns = program_waited_ns(rows)
    share = f" ({units.percent(waited_ns / findings.wall_ns)} of wall)" if findings.wall_ns else ""
    return f"{units.duration(waited_ns)}{share}"


def _columns(findings: Findings, trace: Trace, shown: WaitRows, layout: Layout) -> list[Column]:
    strings = trace.recording[Strings]
    calls = [printable(strings[call]) if call >= 0 else units.ABSENT for call in shown.call.tolist()]
    shares = percents(shown.total_ns, findings.wall_ns) if findings.wall_ns else []
    return [
        *([Column("of wall", shares, align="right", style="bold")] if shares else []),
        Column("total", durations(shown.total_ns), align="right"),
        Column("waits", counts(shown.waits), 2, align="right"),
        Column("mean", durations(mean_ns(shown.total_ns, shown.waits)), 6, align="right"),
        Column("longest", durations(shown.longest_ns), 7, align="right"),
        Column("waited for", [_kind(kind) for kind in shown.kind.tolist()], 1, style="bold"),
        Column("call", calls, 5, least=10, wish=14),
        *site_columns(trace, shown, operator_texts(trace, shown, None, layout), layout),
    ]


def _kind(kind: int) -> str:
    return KINDS.get(kind, KINDS[WaitKind.UNKNOWN])
