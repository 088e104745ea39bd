"""Operator time by the stack that it hangs under: in backward, where the forward call was made."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import gathered
from perfprobe.tables.columns import Int32
from perfprobe.tables.events import USER_SCOPE, LinkedOperators
from perfprobe.tables.python import OperatorSites
from perfprobe.tables.trace import Trace

MOST_GROUPS = 262_144  # gathered before they are reduced again

_KEYS = ("stack", "name", "overload", "signature", "phase")
_SUMS = ("calls", "self_ns")


class SitesOfOperators:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        # Python of the user's that ran in backward is a place of its own.
        self._has_own = np.append(trace.sites.inside_frame >= 0, False)
        self._parts: list[OperatorSites] = []
        self._gathered = 0

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it; equal signature texts have one id."""
        rows = OperatorSites(
            stack=self._stacks(batch),
            name=batch.name,
            overload=batch.overload,
            signature=batch.signature,
            phase=batch.phase,
            calls=np.ones(len(batch), np.int64),
            self_ns=batch.self_ns,
        )
        is_range = batch.scope == USER_SCOPE
        self._parts.append(_merged(rows.take(~is_range) if bool(is_range.any()) else rows))
        self._gathered += len(self._parts[-1])
        if self._gathered > MOST_GROUPS:
            self._parts = [self.result()]
            self._gathered = len(self._parts[0])

    def result(self) -> OperatorSites:
        """The sites of all operators so far, in no order."""
        return _merged(OperatorSites.concat(self._parts))

    def _stacks(self, batch: LinkedOperators) -> Int32:
        if int(batch.forward_stack.max()) < 0:
            return batch.stack
        hangs_there = (batch.forward_stack >= 0) & ~self._has_own[batch.stack]
        return np.where(hangs_there, batch.forward_stack, batch.stack)


def _merged(rows: OperatorSites) -> OperatorSites:
    if len(rows) == 0:
        return rows
    order, first = gathered([getattr(rows, name) for name in _KEYS])
    keys = {name: getattr(rows, name)[order[first]] for name in _KEYS}
    return OperatorSites(**keys, **{n: np.add.reduceat(getattr(rows, n)[order], first) for n in _SUMS})
