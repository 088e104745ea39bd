"""Rule: the loop's thread waited so long for a processor that the machine is the first thing to say."""

from __future__ import annotations

from perfprobe.tables.account import Account
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Starved
from perfprobe.tables.processors import Processors
from perfprobe.tables.steps import StepTimes

_STARVED = 0.2  # of the steps


def starved(findings: Findings) -> Starved | None:
    """How much of its time it had a processor, and who had it otherwise."""
    account = findings.get(Account)
    if account is None or (account.waited_ns or 0) < _STARVED * account.time_ns:
        return None
    return Starved(account.own_ns / account.time_ns, _by_others(findings))


def _by_others(findings: Findings) -> bool | None:
    steps, found = findings.get(StepTimes), findings.get(Processors)
    if steps is None or found is None:
        return None
    own = steps.steps.take(steps.steps.loop == 0)
    others_ns, own_ns = (
        int(found.windows.between(name, own.start_ns, own.end_ns).sum())
        for name in ("neighbours_ns", "own_ns")
    )
    return None if others_ns == own_ns else others_ns > own_ns
