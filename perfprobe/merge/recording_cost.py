"""The CPU time that recording put between the start and the end of each operator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.recording import Recording


@dataclass
class Inside:
    """Counts the operators inside each, of all depths; carries what it needs from one batch to the next.

    They come in the order in which they ended: inside one are all after the last of its thread that was as
    deep or less deep.
    """

    _seen: dict[int, int] = field(default_factory=dict)  # rows of each thread
    _last: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # depth, rows up to it; ascending

    def counts(self, thread: Int32, depth: Int32) -> Int64:
        """Of each row of a batch."""
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
    """Known where all operators have CPU time: system calls around one count for all that contain it.

    Between the two readings of an operator lie `empty_cpu_ns` of its own recording, and the whole cost of
    each inside it, `timed_event_ns`: measured where the program ran, as recording began.
    """

    def __init__(self, recording: Recording) -> None:
        self._event_ns = recording.number("cost", "timed_event_ns")
        self._empty_ns = recording.number("cost", "empty_cpu_ns")
        self._all_timed = recording.text("recording", "cpu_time") == "all"
        self._inside = Inside()

    def within(self, thread: Int32, depth: Int32, cpu_ns: Int64) -> Int64:
        """Of each row in ns, at most its CPU time; -1 where it is not known. Batches in their order."""
        if not self._all_timed or self._event_ns is None or self._empty_ns is None:
            return np.broadcast_to(np.int64(-1), len(cpu_ns))
        cost_ns = self._empty_ns + self._event_ns * self._inside.counts(thread, depth)
        return np.minimum(np.clip(cost_ns, 0, 2**62).astype(np.int64), cpu_ns)
