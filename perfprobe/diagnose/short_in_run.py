"""Rule: a run without steps calls many short operators. The fixed cost of each takes its time."""

from __future__ import annotations

import numpy as np

from perfprobe.diagnose.own_time import own_wall_ns
from perfprobe.diagnose.short_operators import OF_DATA, OF_UNKNOWN, SLOW_CORE_NS, data_ns, real_operators
from perfprobe.tables.diagnoses import Base, Cause, Diagnosis, Short
from perfprobe.tables.findings import Findings, Hotspots
from perfprobe.tables.python import CallStructure

_SHORT_NS = 10_000  # between two operators. A run may do much else, so this is less than in steps
_OPERATORS = 0.25  # of the run without imports: with less in operators, other Python takes the time
_MANY = 10_000


def short_in_run(findings: Findings) -> Diagnosis | None:
    """Many short operators, with the line that has most of them."""
    hotspots, own_ns, structure = findings.get(Hotspots), own_wall_ns(findings), findings.get(CallStructure)
    if (
        hotspots is None
        or not own_ns
        or structure is None
        or not findings.whole
        or findings.focus is not None
    ):
        return None
    rows = real_operators(findings.trace, hotspots.rows)
    time_ns, calls = max(own_ns - int(structure.imports.own_ns.sum()), 1), int(rows.calls.sum())
    if calls < _MANY or time_ns >= _SHORT_NS * calls or int(rows.typical_ns.sum()) < _OPERATORS * time_ns:
        return None
    work_ns, unknown_ns = data_ns(findings.trace, rows, max(SLOW_CORE_NS * calls / time_ns, 1))
    if work_ns >= OF_DATA * time_ns or unknown_ns >= OF_UNKNOWN * time_ns:
        return None
    frames = rows.frame[rows.frame >= 0]
    return Diagnosis(
        cause=Cause.SHORT_OPERATORS,
        base=Base.RUN,
        time_ns=time_ns,
        share=time_ns / own_ns,
        stands_out=True,
        frame=int(np.bincount(frames, rows.calls[rows.frame >= 0]).argmax()) if len(frames) else -1,
        phases={},
        short=Short(calls, work_ns / time_ns),
    )
