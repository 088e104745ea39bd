"""Rule: a server waited for requests for a noteworthy part of the time."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Idle
from perfprobe.tables.steps import StepTimes

_NOTEWORTHY = 0.05  # of the time from the first step to the last


def idle(findings: Findings) -> Idle | None:
    """How long, and where. No step has that time, so all figures are of its work."""
    times = findings.get(StepTimes)
    if times is None or len(times.loops) == 0:
        return None
    own, idle_ns = times.steps.take(times.steps.loop == 0), int(times.loops.idle_ns[0])
    share = idle_ns / max(int(own.end_ns.max() - own.start_ns.min()), 1)
    return Idle(idle_ns, share, int(times.loops.idle_frame[0])) if share >= _NOTEWORTHY else None
