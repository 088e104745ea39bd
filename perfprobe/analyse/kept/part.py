"""What one recording of a run with `--keep slow` says about its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from perfprobe.analyse.kept.lines import KeptLines
from perfprobe.analyse.loop.regions import regions
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.kept import Fate, KeptPart, LineTime, More, SampleSums, SlowStep, StepSums, Stretch
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.steps import PHASE_TEXTS, StepPhase, StepTimes
from perfprobe.tables.trace import Line, Trace

_SECOND_NS = 1e9
_SEEN_BY_SAMPLES_NS = 20_000_000  # a shorter excess over an ordinary step has fewer than about four samples
_MOST_LINES = 3
_WORTH = 0.1  # of the time that a step took longer; lines with less are left out
_MEASURED = {
    "waiting for data": "reader_ns",
    "waiting for a processor": "waited_ns",
    "garbage collection": "collected_ns",
    "running": "cpu_ns",
}
_AWAY = ("running", "waiting for a processor", "waiting for data")  # the rest of a step is "blocked"


class KeptWatch:
    """Takes the operators of a trace batch by batch."""

    def __init__(self, trace: Trace, times: StepTimes) -> None:
        self._trace = trace
        self._times = times
        self._is_kept = trace.recording.is_kept
        self._lines = KeptLines(trace)

    def add(self, batch: LinkedOperators) -> None:
        """Takes the next batch."""
        if self._is_kept:
            self._lines.add(batch)

    def result(self) -> KeptPart | None:
        """Returns slow and ordinary steps; None if all steps were kept."""
        if not self._is_kept:
            return None
        recording = self._trace.recording
        sums, rows = recording[StepSums], recording[LiveSteps].counted()
        ordinary = int((sums.steps - sums.slow).sum())
        usual = _Usual(self._trace, self._lines, max(ordinary, 1), sums, rows)
        offset_ns = _offset_ns(self._trace)
        slow = rows.take((rows.is_slow > 0) & (rows.is_evaluation == 0))
        return KeptPart(
            path=recording.path,
            stretches=_stretches(sums, offset_ns),
            slow=[self._step(slow, row, usual, offset_ns) for row in range(len(slow))],
            lines=list(usual.by_time(offset_ns)),
            ordinary=ordinary,
            usual=list(usual.parts.items()),
        )

    def _step(self, slow: LiveSteps, row: int, usual: _Usual, offset_ns: int) -> SlowStep:
        time_ns = int(slow.end_ns[row] - slow.start_ns[row])
        is_kept = bool(slow.is_recorded[row])
        own = int(np.flatnonzero(self._lines.slow.number == slow.number[row])[0]) if is_kept else -1
        return SlowStep(
            number=int(slow.number[row]),
            start_s=(int(slow.start_ns[row]) + offset_ns) / _SECOND_NS,
            time_ns=time_ns,
            is_kept=is_kept,
            is_partial=bool(slow.is_partial[row]),
            parts=usual.more(slow, row),
            lines=usual.lines(own, time_ns) if is_kept else (),
            phases=self._phases(slow, row, usual),
        )

    def _phases(self, slow: LiveSteps, row: int, usual: _Usual) -> list[tuple[str, int]]:
        """Returns by how much each phase took longer than in an ordinary step, most first.

        Empty without samples of ordinary steps.
        """
        steps, parts = self._times.steps, self._times.step_phases
        middle_ns = (int(slow.start_ns[row]) + int(slow.end_ns[row])) // 2
        found = np.flatnonzero((steps.start_ns <= middle_ns) & (middle_ns < steps.end_ns))
        if len(found) == 0 or not usual.phases:
            return []
        own = parts.take(parts.step == found[0])
        more = [
            (PHASE_TEXTS[StepPhase(phase)], int(time_ns - usual.phases.get(phase, 0)))
            for phase, time_ns in zip(own.phase.tolist(), own.time_ns.tolist(), strict=True)
        ]
        return sorted((each for each in more if each[1] > 0), key=lambda each: -each[1])


class _Usual:
    """Means of ordinary steps: time by line, by phase, and by what the thread did."""

    def __init__(self, trace: Trace, lines: KeptLines, steps: int, sums: StepSums, rows: LiveSteps) -> None:
        self._trace, self._lines, self._steps = trace, lines, steps
        self._samples = list(lines.usual_samples())
        self._operators = list(lines.usual_operators())
        self._of_samples = _means(self._samples, steps)
        self._of_operators = _means(self._operators, steps)
        self.parts = _usual_parts(sums, rows, steps)
        self.phases = self._phases()

    def _phases(self) -> dict[int, float]:
        rows = self._trace.recording[SampleSums]
        live = self._trace.recording[LiveSteps]
        if len(live) == 0 or not self._samples:
            return {}
        threads = self._trace.recording.os_threads()
        own = (rows.fate == Fate.ORDINARY) & (rows.thread >= 0)
        rows = rows.take(own & (threads[rows.thread] == threads[live.thread[0]]))
        phase = regions(self._trace).phase[rows.stack]
        return {
            each: float(rows.time_ns[phase == each].sum()) / self._steps
            for each in sorted(set(phase.tolist()))
        }

    def more(self, slow: LiveSteps, row: int) -> list[More]:
        """Returns what the thread did longer than in an ordinary step, most first."""
        own = _parts(slow, row)
        found = [More(what, time_ns, int(self.parts.get(what, 0))) for what, time_ns in own.items()]
        return sorted((each for each in found if each.more_ns > 0), key=lambda each: -each.more_ns)

    def lines(self, step: int, time_ns: int) -> list[LineTime]:
        """The lines that took longer than in an ordinary step, most first."""
        usual_ns = sum(self.parts.get(what, 0) for what in ("running", "blocked", "waiting for a processor"))
        beyond_ns = max(time_ns - usual_ns, 0)
        of_samples = self._lines.of_samples(step) if self._samples else Counter[int]()
        by_samples = bool(of_samples) and beyond_ns >= _SEEN_BY_SAMPLES_NS
        own = of_samples if by_samples else self._lines.of_operators(step)
        usual = self._of_samples if by_samples else self._of_operators
        more = {frame: ns - usual.get(frame, 0) for frame, ns in own.items() if frame >= 0}
        found = []
        for frame in sorted(more, key=more.__getitem__, reverse=True)[:_MOST_LINES]:
            line = self._trace.line(frame)
            if line is None or more[frame] <= _WORTH * beyond_ns:
                continue
            operator = self._lines.main_operator(step, frame)
            is_its = operator is not None and operator[1] > 0.5 * more[frame]
            found.append(LineTime(line, more[frame], operator[0] if operator and is_its else None))
        return found

    def by_time(self, offset_ns: int) -> Iterator[tuple[float, Line, int]]:
        """Yields for ordinary steps: when a sum was written (seconds since the epoch), the line, its time."""
        summed: Counter[tuple[int, int]] = Counter()
        for until_ns, frame, time_ns in self._samples or self._operators:
            summed[until_ns, frame] += time_ns
        for (until_ns, frame), time_ns in summed.items():
            line = self._trace.line(frame)
            if line is not None:
                yield (until_ns + offset_ns) / _SECOND_NS, line, time_ns


def _means(rows: Sequence[tuple[int, int, int]], steps: int) -> dict[int, float]:
    found: Counter[int] = Counter()
    for _, frame, time_ns in rows:
        found[frame] += time_ns
    return {frame: time_ns / steps for frame, time_ns in found.items()}


def _parts(rows: LiveSteps, row: int) -> dict[str, int]:
    """A step's time by what its thread did. Blocked: neither running nor waiting for a processor or data."""
    time_ns = int(rows.end_ns[row] - rows.start_ns[row])
    known = {what: int(getattr(rows, name)[row]) for what, name in _MEASURED.items()}
    if all(known[each] >= 0 for each in _AWAY):
        known["blocked"] = max(time_ns - sum(known[each] for each in _AWAY), 0)
    return {what: value for what, value in known.items() if value >= 0}


def _usual_parts(sums: StepSums, rows: LiveSteps, steps: int) -> dict[str, float]:
    """Means of ordinary steps: sums of all steps less those of slow ones, as far as they are known."""
    slow = rows.take((rows.is_slow > 0) & (rows.is_evaluation == 0))
    apart: Counter[str] = Counter()
    for row in range(len(slow)):
        apart.update(_parts(slow, row))
    found = {}
    for what, name in _MEASURED.items():
        known = sums.take(getattr(sums, name) >= 0)
        ordinary = max(int((known.steps - known.slow).sum()), 1)
        found[what] = max(int(getattr(known, name).sum()) - apart[what], 0) / ordinary
    whole_ns = (int(sums.total_ns.sum()) - int((slow.end_ns - slow.start_ns).sum())) / steps
    found["blocked"] = max(whole_ns - sum(found[each] for each in _AWAY), 0)
    return found


def _stretches(sums: StepSums, offset_ns: int) -> list[Stretch]:
    names = ("steps", "slow", "total_ns", "median_ns", "p95_ns", "most_ns")
    return [
        Stretch(
            start_s=(int(sums.start_ns[row]) + offset_ns) / _SECOND_NS,
            end_s=(int(sums.end_ns[row]) + offset_ns) / _SECOND_NS,
            **{name: int(getattr(sums, name)[row]) for name in names},
            waited_ns=int(sums.waited_ns[row]) if sums.waited_ns[row] >= 0 else None,
        )
        for row in range(len(sums))
    ]


def _offset_ns(trace: Trace) -> int:
    """Returns what to add to the recording's clock for the time since the epoch; 0 if not known."""
    recording = trace.recording
    realtime_ns, monotonic_ns = (recording.number("clock", name) for name in ("realtime_ns", "monotonic_ns"))
    return 0 if realtime_ns is None or monotonic_ns is None else int(realtime_ns - monotonic_ns)
