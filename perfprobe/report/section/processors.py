"""The line that says that the machine was busy: times of calls are then not the program's alone."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.report.section.block import Block, Paragraph
from perfprobe.support import units
from perfprobe.tables.findings import Findings

_MAIN = 0.05  # of the wall time that the main thread waited for a processor
_ALL = 0.2  # of the wall time, waited by all threads together: those of a pool hold up the others
_NEIGHBOURS = 0.1  # of a processor: less than that is the machine's own


def busy_machine(findings: Findings) -> Iterator[Block]:
    """How long threads waited for a processor, and who had it; nothing where that was little or unknown."""
    recording, wall_ns = findings.trace.recording, findings.wall_ns
    waited_ns = recording.number("processors", "waited_ns")
    main_ns = recording.number("processors", "main_waited_ns") or 0
    if waited_ns is None or not wall_ns or (main_ns < _MAIN * wall_ns and waited_ns < _ALL * wall_ns):
        return
    others_ns, cores = recording.number("processors", "others_cpu_ns"), recording.number("host", "cores")
    text = (
        f"Busy machine: threads waited {units.duration(int(waited_ns))} for a processor, the main one "
        f"{units.percent(main_ns / wall_ns)} of wall"
    )
    if others_ns is not None and cores:
        used = others_ns / wall_ns
        of = f"{used:.1f} of {cores:g} cores"
        text += f"; other processes used {of}" if used >= _NEIGHBOURS else "; hardly any other process ran"
    yield Paragraph(f"{text}. Rows are ranked by their typical calls.", "yellow")
