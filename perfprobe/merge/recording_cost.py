"""Computes the CPU time that recording added between the start and the end of each operator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.recording import Recording


@dataclass
class Inside:
    """Counts the operators inside each operator, at all depths. Keeps what it needs between batches.

    Operators come in the order of their ends. Inside one are all after the previous one of its thread that
    was at the same or a lower depth.
    """

    _seen: dict[int, int] = field(default_factory=dict)  # number of rows of each thread
    _last: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # depth, rows up to it; ascending

    def counts(self, thread: Int32, depth: Int32) -> Int64:
        """Returns the count for each row of a batch."""
        return np.array(
            [self._count(*row) for row in zip(thread.tolist(), depth.tolist(), strict=True)], np.int64
        )

    def _count(self, thread: int, depth: int) -> int:
        seen, last = self._seen.get(thread, 0), self._last.setdefault(thread, [])
        while last and last[-1][0] > depth:
            last.pop()
        inside = seen - (last[-1][1] if last else 0)
        if last and last[-1][0] == depth:
            last.pop()
        last.append((depth, seen + 1))
        self._seen[thread] = seen + 1
        return inside


class RecordingCost:
    """The cost is known if all operators have CPU time: reading it around one counts for all that contain it.

    Between the two readings of an operator there is `empty_cpu_ns` of its own recording, and the whole cost
    of each operator inside it, `timed_event_ns`. Both are measured on the program's machine when recording
    begins.
    """

    def __init__(self, recording: Recording) -> None:
        self._event_ns = recording.number("cost", "timed_event_ns")
        self._empty_ns = recording.number("cost", "empty_cpu_ns")
        self._all_timed = recording.text("recording", "cpu_time") == "all"
        self._inside = Inside()

    def within(self, thread: Int32, depth: Int32, cpu_ns: Int64) -> Int64:
        """Returns ns for each row, at most its CPU time; -1 if not known. Batches must come in order."""
        if not self._all_timed or self._event_ns is None or self._empty_ns is None:
            return np.broadcast_to(np.int64(-1), len(cpu_ns))
        cost_ns = self._empty_ns + self._event_ns * self._inside.counts(thread, depth)
        return np.minimum(np.clip(cost_ns, 0, 2**62).astype(np.int64), cpu_ns)
