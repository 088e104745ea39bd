"""The first line: what ran, for how long, and what the recording itself cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from perfprobe.report.base import Layout
from perfprobe.report.paragraph import joined, paragraph
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.trace import Trace

LONGEST_PROGRAM = 100


def summary(findings: Findings, layout: Layout) -> Iterator[RenderableType]:
    """The first line, and below it whether the recording is whole."""
    trace, hotspots = findings.trace, findings.hotspots
    pieces = [
        Text(cut(_program(trace), min(layout.width, LONGEST_PROGRAM)), style="bold"),
        Text(f"wall {units.duration(trace.wall_ns)}"),
        Text(f"CPU {units.duration(trace.cpu_ns)}"),
        *([Text(_operator_share(trace, hotspots))] if hotspots is not None else []),
        Text(_threads(trace, hotspots)),
        Text(f"torch {printable(trace.recording.text('torch', 'version') or '-')}"),
        Text(f"recording cost {_cost(trace, hotspots)}"),
    ]
    yield joined(pieces, layout.width)
    if hotspots is not None:
        for source, reason in zip(hotspots.losses.source, hotspots.losses.reason, strict=True):
            if source == "recording":
                yield paragraph(printable(f"Incomplete: {reason}."), layout.width, "yellow")


def _program(trace: Trace) -> str:
    argv = trace.recording.texts("program", "argv")
    module = trace.recording.text("program", "module")
    if module is not None:
        return printable(" ".join(["-m", module, *argv[1:]]))
    return printable(" ".join(argv)) if argv else "-"


def _operator_share(trace: Trace, hotspots: Hotspots | None) -> str:
    """Of the wall time: time in operators on the thread that had most of it, so never more than all of it."""
    if hotspots is None or not trace.wall_ns:
        return f"operators {units.ABSENT}"
    share = units.percent(hotspots.totals.busiest_ns / trace.wall_ns)
    where = " on the busiest thread" if hotspots.totals.threads > 1 else ""
    return f"operators {share} of wall{where}"


def _threads(trace: Trace, hotspots: Hotspots | None) -> str:
    torch_threads = trace.recording.number("torch", "threads")
    texts = []
    if torch_threads is not None:
        texts.append(f"torch threads {units.count(int(torch_threads))}")
    if hotspots is not None and (hotspots.totals.threads > 1 or not texts):
        threads = hotspots.totals.threads
        texts.append(f"operators on {units.count(threads)} thread{'' if threads == 1 else 's'}")
    return ", ".join(texts) or "threads -"


def _cost(trace: Trace, hotspots: Hotspots | None) -> str:
    """What recording added: measured cost of an event times events, and the writer thread's CPU time."""
    event_ns = trace.recording.number("cost", "event_ns")
    if event_ns is None or hotspots is None:
        return "not measured"
    cost_ns = event_ns * hotspots.totals.operators + (trace.recording.number("cost", "writer_cpu_ns") or 0)
    if not trace.wall_ns:
        return units.duration(cost_ns)
    return f"{units.duration(cost_ns)} ({units.percent(cost_ns / trace.wall_ns)})"
