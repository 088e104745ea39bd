"""Counters: cycles, instructions, misses, page faults and switches of threads and operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from perfprobe.report import shorten
from perfprobe.report.rows.choice import Choice
from perfprobe.report.rows.counters import CountsRow, EventRow, event_rows, operator_rows, thread_rows
from perfprobe.report.rows.row import Values
from perfprobe.report.section.block import Block, Column, Heading, Paragraph, Section, Table
from perfprobe.report.section.figures import figures
from perfprobe.support import units
from perfprobe.support.text import printable
from perfprobe.tables.counters import CounterFindings
from perfprobe.tables.findings import Findings
from perfprobe.tables.trace import shown_name

TOP = 8
_WHOLE = 0.995  # a group that counted at least this part of the time did not take turns
_SHOWN = {
    "page_faults": "faults",
    "context_switches": "switches",
    "migrations": "migrations",
    "instructions": "instructions",
    "branch_misses": "branch misses",
    "cache_misses": "cache misses",
    "l1_misses": "L1 misses",
    "frontend_stalls": "front stalls",
    "backend_stalls": "back stalls",
}


def counter_tables(findings: Findings, _: Choice) -> dict[str, Sequence[Any]]:
    """`counter_events`, `thread_counts`, `operator_counts` and `memory_bandwidth`."""
    found = findings.get(CounterFindings)
    traffic = []
    if found is not None and found.read_bytes is not None:
        names = ("read_bytes", "written_bytes", "traffic_ns")
        traffic = [Values({name: getattr(found, name) for name in names})]
    return {
        "counter_events": event_rows(findings),
        "thread_counts": thread_rows(findings),
        "operator_counts": operator_rows(findings),
        "memory_bandwidth": traffic,
    }


def counters(findings: Findings, choice: Choice) -> Iterator[Block]:
    """Counts of threads and operators, memory bandwidth, and why events are not counted."""
    most = choice.most(TOP) or None
    events, threads, operators = event_rows(findings), thread_rows(findings), operator_rows(findings)
    counted = sum(event.is_counted for event in events)
    yield Heading("Counters", f"{counted} of {len(events)} events are counted here")
    if threads:
        yield Table(_columns(threads[:most], [_thread(row) for row in threads[:most]], "thread"))
    if operators:
        yield Table(_operator_columns(operators[:most]))
    yield from _bandwidth(findings[CounterFindings])
    for note in [*_notes(threads, operators), *_refused(events)]:
        yield Paragraph(note, "dim")


def _columns(rows: Sequence[CountsRow], names: Sequence[str], title: str) -> list[Column]:
    has_cpi = any(row.cpi is not None for row in rows)
    shown = {name: head for name, head in _SHOWN.items() if any(row.counts[name] is not None for row in rows)}
    cpi = figures("CPI", (units.hundredths(row.cpi) for row in rows), style="bold")
    return [
        figures("CPU", (units.duration(row.cpu_ns) for row in rows)),
        *([cpi] if has_cpi else []),
        *(
            figures(head, (units.amount(row.counts[name]) for row in rows), 2 + at)
            for at, (name, head) in enumerate(shown.items())
        ),
        *([Column("reading", [row.reading for row in rows], 1, least=12, wish=24)] if has_cpi else []),
        Column(title, list(names), least=12),
    ]


def _operator_columns(rows: Sequence[CountsRow]) -> list[Column]:
    lines = [units.ABSENT if row.line is None else shorten.place(row.line) for row in rows]
    signatures = [printable(shorten.signature(row.signature or "")) for row in rows]
    return [
        *_columns(rows, [printable(shown_name(row.operator or "", narrow=True)) for row in rows], "operator"),
        Column("signature", signatures, 12, least=10, wish=20),
        Column("line", [printable(line) for line in lines], 1),
    ]


def _thread(row: CountsRow) -> str:
    return printable(row.thread or units.ABSENT)


def _bandwidth(found: CounterFindings) -> Iterator[Block]:
    if found.read_bytes is None or found.written_bytes is None or found.traffic_ns <= 0:
        return
    seconds = found.traffic_ns / 1e9
    read, written = (units.size(each / seconds) for each in (found.read_bytes, found.written_bytes))
    yield Paragraph(f"Memory: {read}/s read, {written}/s written, by all processes of the machine.")


def _notes(threads: Sequence[CountsRow], operators: Sequence[CountsRow]) -> Iterator[str]:
    """Notes on groups that took turns, and on missing counts of operators."""
    parts = [part for row in (*threads, *operators) for part in row.counted.values() if part is not None]
    if parts and min(parts) < _WHOLE:
        yield (
            "The processor cannot count all events at once: each group counted at least "
            f"{units.percent(min(parts))} of the time, and is scaled to all of it."
        )
    if threads and not operators:
        yield "No operator filled the time between two readings (5 ms): only threads have counts."


def _refused(events: Sequence[EventRow]) -> Iterator[str]:
    """Events that are not counted, one line for each reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for event in events:
        if event.reason:
            key = event.reason.removeprefix(f"{event.event} "), event.remedy
            reasons.setdefault(key, []).append(event.event)
    for (reason, remedy), names in reasons.items():
        yield printable(f"Not counted: {', '.join(names)}: {reason}. To change: {remedy}.")


_MEANINGS: dict[str, str] = {
    "CPU": "CPU time of the thread. For an operator: CPU time of its thread between readings that it filled.",
    "CPI": "Cycles per completed instruction. VTune calls more than 1 high; dense kernels reach 0.5 or less.",
    "reading": "The CPI is good (0.5 or less), fair (up to 1) or high, with the counts that explain it.",
    "faults": "Page faults, minor and major.",
    "switches": "Context switches: how often the thread left its processor, to wait or for another thread.",
    "migrations": "How often the thread moved to another processor.",
    "instructions": "Completed instructions.",
    "branch misses": "Mispredicted branches.",
    "cache misses": "Misses of the last-level cache.",
    "L1 misses": "Loads that missed the first-level data cache.",
    "front stalls": "Cycles in which the front end delivered no instructions.",
    "back stalls": "Cycles in which instructions waited for data or for execution units.",
    "thread": "Name of the thread.",
    "operator": "Operator that filled the time between two readings.",
    "signature": "Inputs of the operator.",
    "line": "Line of the program.",
}

COUNTERS = Section(
    "counters",
    (CounterFindings,),
    counters,
    counter_tables,
    titles=("Counters",),
    guide="native",
    means="Events counted by the processor and the kernel, by thread and operator (`--counters`), and why "
    "others are not counted.",
    meanings=_MEANINGS,
    json={
        "counter_events": "The section *counters*: each event, and whether it was counted.",
        "thread_counts": "The section *counters*: counts of each thread.",
        "operator_counts": "The section *counters*: counts of each operator.",
        "memory_bandwidth": "The section *counters*: bytes transferred by the memory controllers.",
    },
)
