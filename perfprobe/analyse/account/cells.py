"""Operator time of the leading loop's thread by phase, line and module, while operators are read."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import group_by_keys
from perfprobe.tables.columns import Int8, Int32, Int64, Table, column
from perfprobe.tables.stacks import Frames, Modules

_MOST_CELLS = 262_144  # rows that are kept before equal ones are merged


class Cells(Table):
    """Self time of operators with the same phase, line and module. Equal rows come in the order of time."""

    phase: Int8 = column("a `StepPhase`")
    frame: Int32 = column("the user's line, the first frame on it", Frames)
    module: Int32 = column("the nn.Module", Modules)
    time_ns: Int64 = column("time in the calls themselves")
    steps: Int64 = column("number of steps in which they ran")
    first: Int64 = column("the first of these steps")
    last: Int64 = column("the last one")


class GatheredCells:
    """Adds up cells, so that memory depends on the number of different ones."""

    def __init__(self) -> None:
        self._parts: list[Cells] = []
        self._held = 0

    def add(self, phase: Int8, frame: Int32, module: Int32, time_ns: Int64, step: Int64) -> None:
        """More operators of the thread, ordered by time. step: the number of the step of each."""
        ones = np.ones(len(step), np.int64)
        self._parts.append(merged(Cells(phase, frame, module, time_ns, ones, step, step)))
        self._held += len(self._parts[-1])
        if self._held > _MOST_CELLS:
            self._parts = [self.result()]
            self._held = len(self._parts[0])

    def result(self) -> Cells:
        """A row for each phase, line and module."""
        return merged(Cells.concat(self._parts))


def merged(rows: Cells) -> Cells:
    """Adds up equal rows. A step that goes on from one row to the next equal one counts once."""
    if len(rows) == 0:
        return rows
    order, first = group_by_keys([rows.phase, rows.frame, rows.module])
    ordered = rows.take(order)
    last = np.append(first[1:], len(order)) - 1
    goes_on = np.append(False, ordered.first[1:] == ordered.last[:-1])
    goes_on[first] = False
    return Cells(
        **{name: getattr(ordered, name)[first] for name in ("phase", "frame", "module", "first")},
        time_ns=np.add.reduceat(ordered.time_ns, first),
        steps=np.add.reduceat(ordered.steps - goes_on, first),
        last=ordered.last[last],
    )
