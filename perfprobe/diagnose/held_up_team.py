"""Rule: other processes hold up the threads that share the work of an operator, which wait for each other.

A thread of OpenMP that is done waits for the others, and by default runs while it does. So this waiting is no
waiting for a processor, and no sample tells it from work: it remains in all times.
"""

from __future__ import annotations

from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import HeldUpTeam
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, ThreadKind

_HELD_UP = 0.2  # of the wall time: a member was ready to run, and other processes had the processors
_SHARES = 0.1  # of what the main thread ran: members that ran less share no work with it


def held_up_team(findings: Findings) -> HeldUpTeam | None:
    """The team whose members waited for processors that others had."""
    found, teams = findings.get(Processors), findings.get(Teams)
    if found is None or teams is None or (teams.threads or 1) < 2 or not found.waited_ns:
        return None
    threads = found.threads
    shares = threads.run_ns >= _SHARES * int(threads.run_ns[threads.is_main].sum())
    members = threads.waited_ns[(teams.inventory.kind == ThreadKind.OPENMP) & shares]
    waited_ns = int(members.max(initial=0)) * (found.others_ns or 0) / found.waited_ns
    if waited_ns < _HELD_UP * found.wall_ns:
        return None
    free = (found.allowed_cores or 1) - (found.others_cores or 0)
    return HeldUpTeam(teams.threads or 1, max(round(free), 1))
