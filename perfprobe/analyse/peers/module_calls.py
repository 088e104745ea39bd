"""How often modules were called at least, by the operators of each thread in their order.

Calls are not recorded, only operators with the modules they ran in. If an operator outside of a module is
followed by one inside, the module was called in between. Calls that follow each other directly, without an
operator between them, look like one, and calls without operators are not seen.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.stacks import Modules, Stacks
from perfprobe.tables.trace import Trace


class ModuleCalls:
    """Takes operators thread by thread, each thread's in the order of their starts."""

    def __init__(self, trace: Trace) -> None:
        self._module = np.append(trace.recording[Stacks].module, np.int32(-1))
        self._parent = trace.recording[Modules].parent.tolist()
        self._last: dict[int, int] = {}  # by thread, the module of its last operator
        self._pairs: Counter[tuple[int, int]] = Counter()  # of the modules of consecutive operators

    def add(self, thread: int, stack: Int32) -> None:
        """Add operators that follow those added before. stack: their Python stacks."""
        if len(stack) == 0:
            return
        module = self._module[stack].astype(np.int64)
        before = np.append(self._last.get(thread, -1), module[:-1])
        self._last[thread] = int(module[-1])
        width = len(self._parent) + 1
        keys = ((before + 1) * width + module + 1)[before != module]
        pairs, counts = np.unique(keys, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            self._pairs[pair // width - 1, pair % width - 1] += count

    def result(self) -> Int64:
        """For each module the least number of its calls, 0 for none. A ModuleList is never called itself."""
        found = np.zeros(len(self._parent), np.int64)
        for (before, module), count in self._pairs.items():
            entered = set(self._path(module)) - set(self._path(before))
            found[list(entered)] += count
        is_called = np.zeros(len(found), np.bool_)
        is_called[self._module[self._module >= 0]] = True
        return np.where(is_called, found, 0)

    def _path(self, module: int) -> list[int]:
        """The module and those around it."""
        path = []
        while module >= 0:
            path.append(module)
            module = self._parent[module]
        return path
