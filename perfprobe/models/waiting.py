"""Whether threads waited: for a processor, by the scheduler's account, or for others, by samples."""

from __future__ import annotations

from enum import Enum

import numpy as np

from perfprobe.models.readings import changes
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Trace

# Of the time in which it could have run. A thread that waits for others runs a little when it is woken: one
# that polls DataLoader's workers was seen at 10 %.
_RUNNING = 0.2
_UNDISTURBED = 0.01  # of the wall time: threads that waited less for a processor do not mislead

_BUSY_MAIN = 0.05  # of the wall time that the main thread waited for a processor
_BUSY_ALL = 0.2  # of the wall time, waited by all threads together: one thread of a pool delays the others


class HeldUp(Enum):
    """Whether threads waited for a processor."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


def waited_ns(recording: Recording, *, main: bool = False) -> float | None:
    """How long the program's threads, or its main one alone, waited for a processor; None where not told.

    Recordings older than `thread_times` have it as a fact, including perfprobe's own threads.
    """
    found = changes(recording)
    if found is None:
        return recording.number("processors", "main_waited_ns" if main else "waited_ns")
    chosen = found.is_main if main else ~found.is_perfprobe
    wait_ns = found.wait_ns[chosen & (found.wait_ns >= 0)]
    return int(wait_ns.sum()) if len(wait_ns) else None


def held_up(trace: Trace) -> HeldUp:
    """How long threads waited, as far as it was recorded."""
    waited, start_ns = waited_ns(trace.recording), trace.start_ns
    if waited is None or start_ns is None or trace.end_ns is None:
        return HeldUp.UNKNOWN
    return HeldUp.YES if waited >= _UNDISTURBED * (trace.end_ns - start_ns) else HeldUp.NO


def is_busy(trace: Trace) -> bool:
    """Whether threads waited so long for a processor that sums of times mislead; False where not known."""
    every_ns, main_ns = waited_ns(trace.recording), waited_ns(trace.recording, main=True) or 0
    if every_ns is None or trace.start_ns is None or trace.end_ns is None:
        return False
    wall_ns = trace.end_ns - trace.start_ns
    return wall_ns > 0 and (main_ns >= _BUSY_MAIN * wall_ns or every_ns >= _BUSY_ALL * wall_ns)


def stood_still(recording: Recording, cpu_ns: Int64, time_ns: Int64) -> Mask:
    """Which samples show a thread that waited.

    The part of the time in which the main thread waited for a processor is left out, for all threads alike.
    A thread whose CPU time is not known waited if that of others is known: it is missing for idle threads.
    """
    could_run = 1 - _part_held_up(recording)
    known = cpu_ns >= 0
    return np.where(known, cpu_ns < _RUNNING * could_run * time_ns, known.any())


def _part_held_up(recording: Recording) -> float:
    """The part of the recording in which the main thread was ready and did not run; 0 where not known."""
    waited = waited_ns(recording, main=True)
    start_ns, stop_ns = (recording.number(moment, "monotonic_ns") for moment in ("start", "stop"))
    if waited is None or start_ns is None or stop_ns is None or stop_ns <= start_ns:
        return 0
    return min(max(waited / (stop_ns - start_ns), 0), 1)
