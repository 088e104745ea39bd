"""Rule: a training step computes what no gradient needs, while autograd records it."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.account import Account, LeafKind, group
from perfprobe.tables.findings import Findings
from perfprobe.tables.judgements import NeedlessForward
from perfprobe.tables.unused_forward import UnusedForward

_MUCH = 0.1  # of the steps. Figures that are only printed take less


def needless_forward(findings: Findings) -> NeedlessForward | None:
    """The lines that no backward uses, if they take much time."""
    found, account = findings.get(UnusedForward), findings.get(Account)
    if found is None or account is None or len(found) == 0:
        return None
    places = set(zip(found.frame.tolist(), found.module.tolist(), strict=True))
    leaves = account.leaves.take(account.leaves.kind == LeafKind.LINE)
    at = zip(leaves.frame.tolist(), leaves.module.tolist(), strict=True)
    leaves = leaves.take(np.array([place in places for place in at], np.bool_))
    if len(leaves) == 0:
        return None
    lines = group(leaves)
    share = account.share(lines.operators_ns)
    return NeedlessForward(lines.frame, share) if share >= _MUCH else None
