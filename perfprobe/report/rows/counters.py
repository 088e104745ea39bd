"""Rows of counters: of threads and of operators, scaled for groups that took turns, with VTune's CPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.models.cpi import reading
from perfprobe.report.rows.processors import thread_title
from perfprobe.report.rows.row import inline, measured, place, values, word
from perfprobe.support.frozen import frozen
from perfprobe.tables.counters import GROUPS, SOFTWARE, CounterFindings, EventState
from perfprobe.tables.findings import Findings
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Line, Phase


@frozen(kw_only=True)
class CountsRow:
    """Counts of a thread or of an operator, None for what was not counted.

    counts: as in the table; those of the processor are scaled to the whole time. counted: for each group, in
    which part of the time it counted. cpi: cycles per instruction. reading: what the CPI means.
    """

    line: Line | None = place()
    thread: str | None = None
    operator: str | None = None
    signature: str | None = None
    phase: str | None = None
    looks: int | None = None
    cpu_ns: int
    counts: Mapping[str, int | None] = inline()
    counted: Mapping[str, float | None] = inline()
    cpi: float | None
    reading: str


@frozen(kw_only=True)
class EventRow:
    """An event: whether it was counted, and in the kernel too; if not, why, and what would allow it."""

    event: str
    is_counted: bool
    in_kernel: bool
    reason: str
    remedy: str


def event_rows(findings: Findings) -> list[EventRow]:
    """All events that were asked for."""
    found = findings.get(CounterFindings)
    return [] if found is None else [_event(event) for event in found.events]


def _event(event: EventState) -> EventRow:
    return EventRow(
        event=event.name,
        is_counted=not event.reason,
        in_kernel=event.in_kernel and not event.reason,
        reason=event.reason,
        remedy=event.remedy,
    )


def thread_rows(findings: Findings) -> list[CountsRow]:
    """Threads, most CPU time first."""
    found = findings.get(CounterFindings)
    if found is None:
        return []
    recording = findings.trace.recording
    return [
        _row(value, line=None, thread=thread_title(recording, value["thread"]))
        for value in values(found.threads)
    ]


def operator_rows(findings: Findings) -> list[CountsRow]:
    """Operators that filled enough readings, most CPU time first."""
    found, trace = findings.get(CounterFindings), findings.trace
    if found is None:
        return []
    return [
        _row(
            value,
            operator=trace.recording[Strings][value["name"]],
            signature=trace.signature(value["signature"]),
            line=trace.line(value["frame"]),
            phase=word(Phase, value["phase"]),
            looks=value["looks"],
        )
        for value in values(found.operators)
    ]


def _row(value: dict[str, Any], **named: Any) -> CountsRow:
    counts = {name: measured(value[name]) for name in SOFTWARE}
    counts |= {name: scaled(value[name], value["enabled_ns"], value[group]) for name, group in GROUPS.items()}
    counted = {
        f"{group.removesuffix('_ns')}_counted": part(value[group], value["enabled_ns"])
        for group in dict.fromkeys(GROUPS.values())
    }
    cycles, instructions = counts["cycles"], counts["instructions"]
    cpi = cycles / instructions if cycles is not None and instructions else None
    return CountsRow(
        **named, cpu_ns=value["cpu_ns"], counts=counts, counted=counted, cpi=cpi, reading=reading(cpi, counts)
    )


def scaled(count: int, enabled_ns: int, counted_ns: int) -> int | None:
    """Returns a count for the whole time, scaled from the part in which its group counted; None if none."""
    if count < 0 or counted_ns <= 0:
        return None
    return round(count * (enabled_ns / counted_ns)) if enabled_ns > counted_ns else count


def part(counted_ns: int, enabled_ns: int) -> float | None:
    """Returns in which part of the time a group counted; None if its events were never open."""
    return counted_ns / enabled_ns if enabled_ns > 0 and counted_ns >= 0 else None
