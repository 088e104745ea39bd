"""Steps whose operators were not recorded: a step next to one ends where it begins, or begins where it ends.

Their times are known from the table `live_steps` only, which is written while the program runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.loop.covered import Covered
from perfprobe.analyse.loop.training import Span
from perfprobe.tables.columns import Int64
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Trace


class Unrecorded:
    """Unrecorded steps, by the system's number of their thread."""

    def __init__(self, trace: Trace) -> None:
        rows = trace.recording[LiveSteps].counted()
        self._rows = rows.take(rows.is_recorded == 0)
        self._threads = trace.recording.os_threads()[self._rows.thread]

    def first_ns(self) -> int | None:
        """When the first of them began: before it is start-up. None if all steps were recorded."""
        return int(self._rows.start_ns.min()) if len(self._rows) else None

    def apart(self, thread: int, spans: Sequence[Span]) -> Sequence[Span]:
        """Returns a thread's steps, cut where unrecorded ones begin or end, and those that were only timed.

        These are steps of `--baseline`, and steps and evaluations that the budget left out.
        """
        rows = self._rows.take(self._threads == thread)
        if len(rows) == 0 or not spans:
            return spans
        kept = [span for span in spans if not _is_inside(span, rows)]
        found = [_without(span, rows.start_ns, rows.end_ns) for span in kept]
        baseline = rows.take(rows.is_baseline > 0)
        columns = (baseline.start_ns, baseline.end_ns, baseline.is_evaluation)
        for start_ns, end_ns, is_evaluation in zip(*(each.tolist() for each in columns), strict=True):
            found.append(Span(start_ns, end_ns, is_evaluation > 0, (), is_baseline=True))
        return sorted(found, key=lambda span: span.start_ns)


def _is_inside(span: Span, rows: LiveSteps) -> bool:
    """Whether it is an unrecorded one: its end was marked, or it was recorded from its middle on."""
    middle_ns = (span.start_ns + span.end_ns) // 2
    moment_ns = min((event.start_ns for event in span.events), default=middle_ns)
    at = int(np.searchsorted(rows.start_ns, moment_ns)) - 1
    return at >= 0 and moment_ns < int(rows.end_ns[at])


def outside_windows(recording: Recording) -> Covered:
    """The steps outside of the windows that were asked for: nothing was recorded in them, not even GPUs."""
    rows = recording[LiveSteps].counted()
    is_outside = (rows.is_recorded == 0) & (rows.is_baseline == 0)
    has_windows = any(recording.fact("recording", name) for name in ("steps", "duration", "wait"))
    rows = rows.take(is_outside & has_windows)
    return Covered(rows.start_ns, rows.end_ns)


def _without(span: Span, starts_ns: Int64, ends_ns: Int64) -> Span:
    """The span, cut to end at unrecorded steps: the last before its first event, the first after its last.

    An optimizer's range ends some microseconds after the step that it ends.
    """
    if not span.events:
        return span
    first_ns = min(event.start_ns for event in span.events)
    last_ns = max(event.start_ns for event in span.events)
    before, behind = np.searchsorted(ends_ns, first_ns, "right") - 1, np.searchsorted(starts_ns, last_ns)
    start_ns = max(span.start_ns, int(ends_ns[before])) if before >= 0 else span.start_ns
    end_ns = min(span.end_ns, int(starts_ns[behind])) if behind < len(starts_ns) else span.end_ns
    return span._replace(start_ns=start_ns, end_ns=max(end_ns, start_ns))
