"""How much of an interval is covered by other intervals."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64


class Covered:
    """The union of intervals."""

    def __init__(self, start_ns: Int64, end_ns: Int64) -> None:
        order = np.argsort(start_ns, kind="stable")
        start_ns, end_ns = start_ns[order], end_ns[order]
        end_ns = np.maximum.accumulate(end_ns) if len(end_ns) else end_ns
        self._start_ns = np.maximum(start_ns, np.append(start_ns[:1], end_ns[:-1]))
        self._end_ns = np.maximum(end_ns, self._start_ns)
        self._before_ns = np.append(np.int64(0), np.cumsum(self._end_ns - self._start_ns))

    def within(self, start_ns: Int64, end_ns: Int64) -> Int64:
        """For how many ns of each stretch at least one interval is open."""
        return self._until(end_ns) - self._until(start_ns)

    def _until(self, time_ns: Int64) -> Int64:
        """The length of the union up to each time."""
        if len(time_ns) == 0 or len(self._start_ns) == 0:
            return np.zeros(len(time_ns), np.int64)
        at = np.searchsorted(self._start_ns, time_ns, "right") - 1
        start_ns, end_ns = np.append(self._start_ns, time_ns.max()), np.append(self._end_ns, time_ns.max())
        open_ns = np.where(at >= 0, np.minimum(time_ns, end_ns[at]) - start_ns[at], 0)
        return self._before_ns[np.maximum(at, 0)] * (at >= 0) + np.maximum(open_ns, 0)
