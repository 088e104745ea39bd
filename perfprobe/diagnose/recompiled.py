"""Rule: torch.compile compiled a function again and again."""

from __future__ import annotations

from perfprobe.tables.compilations import Compilations
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recompiled

_OFTEN = 4  # times: a second compilation makes shapes dynamic, and one more a number
_NOTEWORTHY = 0.01  # of the wall time


def recompiled(findings: Findings) -> Recompiled | None:
    """The function that was compiled most often, if that took a noteworthy time."""
    found, wall_ns = findings.get(Compilations), findings.wall_ns
    if found is None or not wall_ns:
        return None
    most = found.functions[0]
    if most.number < _OFTEN or (most.time_ns or 0) < _NOTEWORTHY * wall_ns:
        return None
    return Recompiled(most, found.is_cut)
