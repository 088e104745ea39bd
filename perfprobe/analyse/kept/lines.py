"""The time of each line of the user's code in slow and in ordinary steps.

Samples of the loop's thread give it: they also show Python and waiting. Without samples, and for steps too
short for them, operators give it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.kept import Fate, OperatorSums, SampleSums
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


class KeptLines:
    """Takes the operators of a trace, all of slow steps. A line is a frame's number; -1 is none."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        rows = trace.recording[LiveSteps].counted()
        self.slow = rows.take((rows.is_slow > 0) & (rows.is_recorded > 0))
        self._threads = trace.recording.os_threads()
        self._frames = np.append(trace.sites.frame, np.int32(-1))
        self._operators: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch: sums self time by step, line and operator."""
        at = np.searchsorted(self.slow.start_ns, batch.end_ns, "right") - 1
        inside = (at >= 0) & (batch.end_ns <= np.append(self.slow.end_ns, np.int64(0))[at])
        frame = self._frames[batch.stack]
        columns = (at[inside], frame[inside], batch.name[inside], batch.self_ns[inside])
        for step, line, name, self_ns in zip(*(column.tolist() for column in columns), strict=True):
            self._operators[step][line, name] += self_ns

    def of_operators(self, step: int) -> Counter[int]:
        """Returns the self time of operators by frame in a slow step."""
        found: Counter[int] = Counter()
        for (frame, _), self_ns in self._operators[step].items():
            found[frame] += self_ns
        return found

    def main_operator(self, step: int, frame: int) -> tuple[str, int] | None:
        """Returns the operator with most self time at a line in a slow step, and that time."""
        own = {name: ns for (line, name), ns in self._operators[step].items() if line == frame}
        if not own:
            return None
        name = max(own, key=own.__getitem__)
        return self._trace.recording[Strings][name], own[name]

    def of_samples(self, step: int) -> Counter[int]:
        """Returns the sampled time of the loop's thread by frame in a slow step."""
        rows, found = self._samples, Counter[int]()
        start_ns, end_ns = int(self.slow.start_ns[step]), int(self.slow.end_ns[step])
        first = int(np.searchsorted(rows.end_ns, start_ns, "right"))
        last = int(np.searchsorted(rows.start_ns, end_ns, "left"))
        for row in range(first, last):
            own_ns = min(int(rows.end_ns[row]), end_ns) - max(int(rows.start_ns[row]), start_ns)
            found[int(self._frames[rows.stack[row]])] += max(own_ns, 0)
        return found

    @property
    def _samples(self) -> Samples:
        rows = self._trace.recording[Samples]
        if len(self.slow) == 0:
            return rows.take(slice(0, 0))
        of_loop = self._threads[rows.thread] == self._threads[self.slow.thread[0]]
        rows = rows.take(of_loop & (rows.look == Look.READ))
        return rows.take(np.argsort(rows.start_ns, kind="stable"))

    def usual_samples(self) -> Iterator[tuple[int, int, int]]:
        """Yields sums of ordinary steps: when they were written, frame, sampled time of the loop's thread."""
        rows, live = self._trace.recording[SampleSums], self._trace.recording[LiveSteps]
        if len(live) == 0:
            return
        own = (rows.fate == Fate.ORDINARY) & (self._threads[rows.thread] == self._threads[live.thread[0]])
        rows = rows.take(own & (rows.thread >= 0))
        yield from _each(rows.until_ns, self._frames[rows.stack], rows.time_ns)

    def usual_operators(self) -> Iterator[tuple[int, int, int]]:
        """Yields the same with the self time of operators."""
        rows = self._trace.recording[OperatorSums]
        rows = rows.take(rows.fate == Fate.ORDINARY)
        yield from _each(rows.until_ns, self._frames[rows.stack], rows.self_ns)


def _each(until_ns: Int64, frame: Int32, time_ns: Int64) -> Iterator[tuple[int, int, int]]:
    yield from zip(until_ns.tolist(), frame.tolist(), time_ns.tolist(), strict=True)
