"""The first line: what ran, for how long, and the cost of recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.own_cost import own_cost
from perfprobe.report.rows.totals import totals_row
from perfprobe.report.section.block import Block, Fact, Facts, Paragraph, Section
from perfprobe.report.section.children import cpu_of_children, work_in_children
from perfprobe.report.section.gpu.headline import headline
from perfprobe.report.section.hottest import hottest, hottest_python
from perfprobe.report.section.processors import busy_machine
from perfprobe.report.section.program import LONGEST_PROGRAM, program
from perfprobe.report.shorten import cut
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.python import CallStructure
from perfprobe.tables.trace import Trace


def totals_table(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`totals`, in one row."""
    return {"totals": [totals_row(findings)]} if Hotspots in findings else {}


def summary(findings: Findings, _: Choice) -> Iterator[Block]:
    """The first line, then whether the recording is complete, and what is hottest."""
    trace, hotspots = findings.trace, findings.get(Hotspots)
    if trace.recording.is_profile:
        yield from _of_pstats(findings)
        return
    pieces = [
        f"wall {units.duration(findings.wall_ns)}",
        f"CPU {units.duration(trace.cpu_ns)}",
        *cpu_of_children(findings),
        *([_operator_share(findings, hotspots)] if hotspots is not None else []),
        *_threads(trace, hotspots),
        f"torch {printable(_torch_version(trace) or units.ABSENT)}",
        *([_cost(findings, hotspots)] if hotspots is not None and hotspots.totals.operators else []),
    ]
    yield Facts([Fact(program(trace), "bold", LONGEST_PROGRAM), *map(Fact, pieces)])
    if hotspots is not None:
        losses = findings[Losses]
        for source, reason, count in zip(losses.source, losses.reason, losses.count.tolist(), strict=True):
            if source == "recording":
                number = f" (count {units.count(count)})" if count > 0 else ""
                yield Paragraph(f"Incomplete: {printable(reason)}{number}.", "yellow")
    yield from work_in_children(findings)
    yield from busy_machine(findings)
    yield from headline(findings)
    yield from hottest(findings)
    yield from hottest_python(findings)


def _of_pstats(findings: Findings) -> Iterator[Block]:
    """The first line for a profile written by cProfile."""
    structure = findings.get(CallStructure)
    counted = None if structure is None else structure.python.counted
    name = cut(printable(findings.trace.recording.text("pstats") or "-"), LONGEST_PROGRAM)
    yield Facts(
        [
            Fact(name, "bold"),
            Fact("a profile of cProfile"),
            Fact(f"functions {units.count(0 if counted is None else len(counted))}"),
            Fact(f"time in them {units.duration(0 if counted is None else int(counted.own_ns.sum()))}"),
        ]
    )


def _torch_version(trace: Trace) -> str | None:
    return trace.recording.text("torch", "version") or trace.recording.text("versions", "torch")


def _operator_share(findings: Findings, hotspots: Hotspots) -> str:
    """The busiest thread's share of the wall time in operators, so that it is never above 100 %."""
    if hotspots.whole_rows == 0:
        return _no_operators(findings, hotspots)
    if not findings.operators_wall_ns:
        return f"operators {units.ABSENT}"
    share = units.percent(hotspots.totals.busiest_ns / findings.operators_wall_ns)
    where = " on the busiest thread" if hotspots.totals.threads > 1 else ""
    kept = "" if findings.whole else " (of what was kept)"
    return f"operators {share} of wall{where}{kept}"


def _no_operators(findings: Findings, hotspots: Hotspots) -> str:
    switched_off = findings.trace.recording.text("recording", "operators") == "off"
    if switched_off or "operators" in findings[Losses].source:
        return "operators not recorded"
    return "no operators" if findings.whole else "no operators could be read"


def _threads(trace: Trace, hotspots: Hotspots | None) -> list[str]:
    torch_threads = trace.recording.number("torch", "threads")
    texts = []
    if torch_threads is not None:
        texts.append(f"torch threads {units.count(int(torch_threads))}")
    threads = 0 if hotspots is None else hotspots.totals.threads
    if threads > 1 or (threads == 1 and not texts):
        texts.append(f"operators on {units.count(threads)} thread{'' if threads == 1 else 's'}")
    return [", ".join(texts)] if texts else []


def _cost(findings: Findings, hotspots: Hotspots) -> str:
    cost = own_cost(findings, hotspots.totals)
    fixed = "" if cost.fixed_ns is None else f", start and stop {units.duration(cost.fixed_ns)}"
    if cost.running_ns is None:
        return f"recording cost not measured{fixed}"
    share = "" if cost.share is None else f"+{units.percent(cost.share)} CPU, "
    return f"recording cost at least {units.duration(cost.running_ns)} ({share}estimated){fixed}"


SUMMARY = Section(
    "summary",
    (),
    summary,
    totals_table,
    shows=(Hotspots, CallStructure, GpuFindings),
    titles=(
        "Hottest",
        "Busy machine",
    ),
    means="The program, its wall and CPU time, the share of operators, the cost of recording, and the "
    "hottest operator.",
    json={
        "totals": "One row: wall time, CPU time, time in operators, and how complete the recording is.",
    },
)
