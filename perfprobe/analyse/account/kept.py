"""Times of operators without the waiting for a processor that the account took out of their lines."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.account.watch import same_line
from perfprobe.tables.account import Account
from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.stacks import Frames
from perfprobe.tables.trace import Trace


def undisturbed(trace: Trace, account: Account, frame: Int32, self_ns: Int64) -> Int64:
    """These times without waiting. frame: the user's line of each, -1 none."""
    line = same_line(trace.recording[Frames])
    own_ns, waited_ns = (
        _by_line(account, getattr(account.leaves, name), len(line)) for name in ("time_ns", "waited_ns")
    )
    whole_ns = own_ns + waited_ns
    mean = account.own_ns / max(account.time_ns, 1)
    kept = np.where(whole_ns > 0, own_ns / np.maximum(whole_ns, 1), mean)[line]
    return np.rint(self_ns * kept[frame]).astype(np.int64)


def _by_line(account: Account, values: Int64, lines: int) -> Int64:
    """Sums by line; the last one is of what has no line."""
    found = np.zeros(lines, np.int64)
    known = account.leaves.operators_ns > 0
    np.add.at(found, account.leaves.frame[known], values[known])
    return found
