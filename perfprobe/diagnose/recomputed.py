"""Rule: backward computes forward again, to save memory (torch.utils.checkpoint)."""

from __future__ import annotations

from perfprobe.tables.account import Account, group
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import Recomputed
from perfprobe.tables.steps import StepPhase

_MUCH = 0.1  # of the steps


def recomputed(findings: Findings) -> Recomputed | None:
    """The line with most of it, if it takes much time."""
    account = findings.get(Account)
    if account is None:
        return None
    leaves = account.leaves.take(account.leaves.phase == StepPhase.RECOMPUTE)
    share = account.share(int(leaves.time_ns.sum()))
    return Recomputed(group(leaves).frame, share) if share >= _MUCH else None
