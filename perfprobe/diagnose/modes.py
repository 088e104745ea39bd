"""Rule: the program left a mode on that makes torch slower."""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import SlowModes
from perfprobe.tables.modes import Mode, Modes

_NOTEWORTHY = 0.2  # of the steps, without steps of the wall time
_SLOWER = 1.1  # steps with it, beside others; where there are none to compare with, it is said
_WITHOUT_COST = "deterministic algorithms"  # on a CPU they may cost nothing: said only if they do


def slow_modes(findings: Findings) -> SlowModes | None:
    """The modes that were on for much of the time, except where steps show that they cost nothing."""
    found = findings.get(Modes)
    if found is None:
        return None
    return SlowModes(tuple(each for each in found.found if _is_noteworthy(findings, each)))


def _is_noteworthy(findings: Findings, mode: Mode) -> bool:
    if mode.whole:
        is_long = mode.steps >= _NOTEWORTHY * mode.whole
    else:
        is_long = mode.time_ns >= _NOTEWORTHY * (findings.wall_ns or mode.time_ns)
    costs = mode.name != _WITHOUT_COST if mode.slower is None else mode.slower >= _SLOWER
    return is_long and costs
