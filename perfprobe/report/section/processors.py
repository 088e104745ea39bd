"""The line about a busy machine, where times of calls include waiting for a processor."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.models.waiting import is_busy, waited_ns
from perfprobe.report.rows.named import OF_CAUSES, is_named
from perfprobe.report.section.block import Block, Paragraph
from perfprobe.report.section.threads import kinds_of_waiting
from perfprobe.support import units
from perfprobe.tables.findings import Findings
from perfprobe.tables.processors import Processors


def busy_machine(findings: Findings) -> Iterator[Block]:
    """Yields how long threads waited for a processor, and who used it; nothing if it was little."""
    recording, wall_ns = findings.trace.recording, findings.wall_ns
    waited, main_ns = waited_ns(recording), waited_ns(recording, main=True) or 0
    if waited is None or not wall_ns or not is_busy(findings.trace):
        return
    text = (
        f"Busy machine: threads waited {units.duration(int(waited))} for a processor, the main one "
        f"{units.percent(main_ns / wall_ns)} of wall"
    )
    found = findings.get(Processors)
    if found is None:
        others_ns = recording.number("processors", "others_cpu_ns")
        others = None if others_ns is None else others_ns / wall_ns
        cores = recording.number("host", "cores")
    else:
        kinds = kinds_of_waiting(found)
        text += f": {kinds}" if kinds else ""
        others, cores = found.others_cores, found.affinity_cores
    yield Paragraph(f"{text}{_others(others, cores)}. Rows are ranked by typical time.", "yellow")


def _others(others: float | None, cores: float | None) -> str:
    if others is None or not cores:
        return ""
    if not is_named(others, least=OF_CAUSES):  # less is the system's own use
        return "; hardly any other process ran"
    return f"; other processes used {units.tenths(others)} of {units.plain(cores)} cores"
