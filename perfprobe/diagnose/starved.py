"""Rule: a thread waited so long for a processor that the machine is the first thing to say."""

from __future__ import annotations

import numpy as np

from perfprobe.diagnose.own_time import own_part
from perfprobe.models.waiting import waited_ns
from perfprobe.tables.account import Account
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Starved
from perfprobe.tables.processors import Processors
from perfprobe.tables.steps import StepTimes

_STARVED = 0.2  # of the steps, or of a run without steps
_OF_WORKERS = 0.01  # of the steps


def starved(findings: Findings) -> Starved | None:
    """How much of its time the loop's thread had a processor, without steps the main one; and who had it."""
    account, times = findings.get(Account), findings.get(StepTimes)
    if account is None:
        return None if times is None or len(times.loops) else _run(findings)
    if not account.time_ns or (account.waited_ns or 0) < _STARVED * account.time_ns:
        return None
    own = None if times is None else times.steps.take(times.steps.loop == 0)
    others = None if own is None else _by_others(findings, own.start_ns, own.end_ns)
    of_workers = account.of_workers_ns >= _OF_WORKERS * account.time_ns
    return Starved(account.own_ns / account.time_ns, others, of_run=False, of_workers=of_workers)


def _run(findings: Findings) -> Starved | None:
    """The same for a run without steps."""
    trace, wall_ns = findings.trace, findings.wall_ns
    main_ns = waited_ns(trace.recording, main=True)
    if not wall_ns or trace.start_ns is None or main_ns is None or main_ns < _STARVED * wall_ns:
        return None
    bounds_ns = np.array([trace.start_ns]), np.array([trace.start_ns + wall_ns])
    return Starved(own_part(findings), _by_others(findings, *bounds_ns), of_run=True)


def _by_others(findings: Findings, start_ns: Int64, end_ns: Int64) -> bool | None:
    found = findings.get(Processors)
    if found is None:
        return None
    others_ns, own_ns = (
        int(found.windows.between(name, start_ns, end_ns).sum()) for name in ("others_ns", "own_ns")
    )
    return None if others_ns == own_ns else others_ns > own_ns
