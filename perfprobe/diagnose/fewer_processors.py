"""Rule: the program, or a library, took processors away from its main thread, which new threads inherit."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import FewerProcessors


def fewer_processors(findings: Findings) -> FewerProcessors | None:
    """How many the affinity allowed at the beginning and at the end, if it was changed to fewer."""
    recording = findings.trace.recording
    before = recording.number("host", "cores_allowed")
    after = recording.number("processors", "allowed_at_end")
    return FewerProcessors(int(before), int(after)) if before and after and after < before else None
