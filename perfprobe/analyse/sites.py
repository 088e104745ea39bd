"""Operator time by calling stack; for operators in backward, by the stack of the forward call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perfprobe.analyse.grouping import group_in_runs, measured_sums, sort_by_keys
from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.python import OperatorSites
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.trace import Trace

MOST_GROUPS = 262_144  # rows that are kept before equal ones are merged

_KEYS = ("stack", "name", "overload", "signature", "phase", "thread", "own_stack", "frame")
_SUMS = ("calls", "self_ns")


class SitesOfOperators:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._parts: list[OperatorSites] = []
        self._gathered = 0

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it; equal signature texts have one id."""
        rows = OperatorSites(
            stack=hanging_stack(self._trace, batch.stack, batch.forward_stack),
            name=batch.name,
            overload=batch.overload,
            signature=batch.signature,
            phase=batch.phase,
            thread=batch.thread,
            own_stack=batch.stack,
            frame=batch.frame,
            calls=np.ones(len(batch), np.int64),
            self_ns=batch.self_ns,
            gpu_self_ns=batch.gpu_self_ns,
        )
        is_range = batch.scope == USER_SCOPE
        rows = rows.take(~is_range) if bool(is_range.any()) else rows
        self._parts.append(_add_up(rows, group_in_runs))
        self._gathered += len(self._parts[-1])
        if self._gathered > MOST_GROUPS:
            self._parts = [self.result()]
            self._gathered = len(self._parts[0])

    def result(self) -> OperatorSites:
        """The sites of all operators so far, in no order."""
        return _add_up(OperatorSites.concat(self._parts), sort_by_keys)


def hanging_stack(trace: Trace, stack: Int32, forward_stack: Int32) -> Int32:
    """The stacks to which operators belong: in backward the forward call's, unless user code called them."""
    if len(stack) == 0 or int(forward_stack.max()) < 0:
        return stack
    has_own = np.append(trace.sites.inside_frame >= 0, False)
    return np.where((forward_stack >= 0) & ~has_own[stack], forward_stack, stack)


def _add_up(rows: OperatorSites, group: Callable[[list[Any]], tuple[Rows, Rows]]) -> OperatorSites:
    if len(rows) == 0:
        return rows
    order, first = group([getattr(rows, name) for name in _KEYS])
    keys = {name: getattr(rows, name)[order[first]] for name in _KEYS}
    sums = {name: np.add.reduceat(getattr(rows, name)[order], first) for name in _SUMS}
    return OperatorSites(**keys, **sums, gpu_self_ns=measured_sums(rows.gpu_self_ns, order, first))
