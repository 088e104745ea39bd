"""Totals over all operators of a trace."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import first_of_each
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Totals
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.trace import NoLine, Phase


class SumsOfAll:
    """Takes the operators of a trace batch by batch."""

    def __init__(self) -> None:
        self._operators = 0
        self._of_thread: dict[int, int] = {}
        self._backward_ns = 0
        self._linked_ns = 0
        self._last_end_ns: int | None = None
        self._outermost_ns: int | None = None
        self._outermost_cpu_ns: int | None = None
        self._cpu_timed = 0

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it."""
        self._operators += len(batch)
        self_ns = np.where(batch.scope == USER_SCOPE, 0, batch.self_ns)
        first = first_of_each(batch.thread)
        for thread, time_ns in zip(
            batch.thread[first].tolist(), np.add.reduceat(self_ns, first).tolist(), strict=True
        ):
            self._of_thread[thread] = self._of_thread.get(thread, 0) + time_ns
        backward = batch.phase == Phase.BACKWARD
        self._backward_ns += int(self_ns[backward].sum())
        self._linked_ns += int(self_ns[backward & (batch.no_line == NoLine.NONE)].sum())
        self._last_end_ns = max(int(batch.end_ns.max()), self._last_end_ns or 0)
        self._add_cpu(batch)

    def _add_cpu(self, batch: LinkedOperators) -> None:
        self._cpu_timed += int(np.count_nonzero(batch.cpu_ns >= 0))
        measured = (batch.cpu_ns >= 0) & (batch.depth == 0)
        if bool(measured.any()):
            duration_ns = np.maximum(batch.end_ns - batch.start_ns, 0)
            self._outermost_ns = (self._outermost_ns or 0) + int(duration_ns[measured].sum())
            self._outermost_cpu_ns = (self._outermost_cpu_ns or 0) + int(batch.cpu_ns[measured].sum())

    def result(self) -> Totals:
        """The totals. Ranges do not count in times."""
        return Totals(
            operators=self._operators,
            threads=len(self._of_thread),
            self_ns=sum(self._of_thread.values()),
            busiest_ns=max(self._of_thread.values(), default=0),
            backward_ns=self._backward_ns,
            linked_ns=self._linked_ns,
            last_end_ns=self._last_end_ns,
            outermost_ns=self._outermost_ns,
            outermost_cpu_ns=self._outermost_cpu_ns,
            cpu_timed=self._cpu_timed,
        )
