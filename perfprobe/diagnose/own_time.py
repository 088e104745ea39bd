"""The time of a run without what its main thread waited for a processor."""

from __future__ import annotations

from perfprobe.models.waiting import waited_ns
from perfprobe.tables.findings import Findings


def own_wall_ns(findings: Findings) -> int | None:
    """That time; all of the run's time if waiting was not recorded, None if that is not known."""
    wall_ns = findings.wall_ns
    if wall_ns is None:
        return None
    return max(wall_ns - int(waited_ns(findings.trace.recording, main=True) or 0), 0)


def own_part(findings: Findings) -> float:
    """The part of the run's time that this is. Where waiting was not seen, it is taken as even."""
    wall_ns, own_ns = findings.wall_ns, own_wall_ns(findings)
    return own_ns / wall_ns if wall_ns and own_ns is not None else 1
