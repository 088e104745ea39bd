"""Rule: a GPU was throttled, which makes all times on it longer."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.gpu_states import DeviceStates
from perfprobe.tables.judgements import Throttled

_LEAST_JUDGED = 5  # readings
_LEAST_SHARE = 0.1  # of them


def throttled(findings: Findings) -> Throttled | None:
    """All such GPUs, if enough readings say so."""
    rows = findings.get(DeviceStates)
    if rows is None:
        return None
    chosen = (rows.judged >= _LEAST_JUDGED) & (rows.throttled >= _LEAST_SHARE * rows.judged)
    return Throttled(frozenset(rows.device[chosen].tolist()))
