"""Collects the intervals of a whole trace in bounded memory."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64

MOST_INTERVALS = 2_097_152
_FIRST_GAP_NS = 250


class Held:
    """Intervals in any order. If there are more than a limit, those with short gaps between are merged."""

    def __init__(self, most: int = MOST_INTERVALS) -> None:
        self._parts: list[tuple[Int64, Int64]] = []
        self._most, self._held, self._gap_ns = most, 0, _FIRST_GAP_NS

    def add(self, start_ns: Int64, end_ns: Int64) -> None:
        """Add intervals in any order."""
        self._parts.append((start_ns, end_ns))
        self._held += len(start_ns)
        while self._held > self._most:
            joined = _joined(*self.all(), self._gap_ns)
            self._parts, self._held = [joined], len(joined[0])
            self._gap_ns *= 2

    def all(self) -> tuple[Int64, Int64]:
        """Starts and ends of all, in ns."""
        if not self._parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        start_ns, end_ns = zip(*self._parts, strict=True)
        return np.concatenate(start_ns), np.concatenate(end_ns)


def _joined(start_ns: Int64, end_ns: Int64, gap_ns: int) -> tuple[Int64, Int64]:
    """Merges intervals with at most this gap between them; sorted by time."""
    order = np.argsort(start_ns, kind="stable")
    start_ns, end_ns = start_ns[order], np.maximum.accumulate(end_ns[order])
    first = np.flatnonzero(np.append(True, start_ns[1:] > end_ns[:-1] + gap_ns))
    return start_ns[first], end_ns[np.append(first[1:], len(start_ns)) - 1]
