"""Decides whether threads waited: for a processor, from the scheduler, or for others, from samples.

And how long they ran, which the scheduler says too.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from perfprobe.models.readings import changes
from perfprobe.tables.columns import Int64, Mask, distinct
from perfprobe.tables.live_steps import LiveSteps
from perfprobe.tables.processors import ThreadTimes, WaitReadings
from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Trace

# Of the time in which it could have run. A waiting thread runs a little whenever it is woken: one that polls
# DataLoader's workers was seen at 10 %.
RUNNING = 0.2
_UNDISTURBED = 0.01  # of the wall time; threads that waited less for a processor do not distort times

_BUSY_MAIN = 0.05  # of the wall time, if the main thread waited for a processor
_BUSY_ALL = 0.2  # of the wall time, summed over all threads: one thread of a pool delays the others
# Columns of `ThreadTimes` and of `LiveSteps` with the same sum.
_WAITED, _RAN = ("wait_ns", "waited_ns"), ("run_ns", "cpu_ns")
_MISLED = 6  # a sum misleads if it is a sixth too large, as in every row that `durations.long_calls` finds


class HeldUp(Enum):
    """Whether threads waited for a processor."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


def waited_ns(recording: Recording, *, main: bool = False) -> float | None:
    """Returns how long the program's threads waited for a processor; None if not known.

    Recordings older than `thread_times` have the sum as a fact, including perfprobe's own threads.

    Args:
        main: only the main thread.
    """
    found = changes(recording)
    if found is None:
        return recording.number("processors", "main_waited_ns" if main else "waited_ns")
    chosen = found.is_main if main else ~found.is_perfprobe
    wait_ns = found.wait_ns[chosen & (found.wait_ns >= 0)]
    return int(wait_ns.sum()) if len(wait_ns) else None


def waited_within_ns(recording: Recording, thread: int, start_ns: Int64, end_ns: Int64) -> int | None:
    """Returns how long a thread waited for a processor in all of these stretches of time; None if not known.

    See `waited_each_ns`.
    """
    found = waited_each_ns(recording, thread, start_ns, end_ns)
    return None if found is None else int(found.sum())


def waited_each_ns(
    recording: Recording, thread: int, start_ns: Int64, end_ns: Int64
) -> npt.NDArray[np.float64] | None:
    """Returns how long a thread waited for a processor in each stretch of time; None if not known.

    Waiting is taken as even within each step of `live_steps`, and elsewhere between two readings, which are
    half a second apart.

    Args:
        thread: row of `threads`.
    """
    return _each_ns(recording, thread, start_ns, end_ns, _WAITED)


def cpu_each_ns(
    recording: Recording, thread: int, start_ns: Int64, end_ns: Int64
) -> npt.NDArray[np.float64] | None:
    """Returns the CPU time of a thread in each stretch of time; None if not known.

    It is taken as even where waiting is: see `waited_each_ns`. Not a number for stretches that begin before
    the first reading or end behind the last one.
    """
    found, times = _each_ns(recording, thread, start_ns, end_ns, _RAN), _times_of(recording, thread)
    if found is None:
        return None
    live = recording[LiveSteps].counted().end_ns
    is_read = (start_ns >= times.time_ns[0]) & (end_ns <= max(times.time_ns[-1], live.max(initial=0)))
    return np.where(is_read, found, np.nan)


def _times_of(recording: Recording, thread: int) -> ThreadTimes:
    """The readings of a thread, in order."""
    times, os_threads = recording[ThreadTimes], recording.os_threads()
    times = times.take(os_threads[times.thread] == os_threads[thread])
    return times.take(np.argsort(times.time_ns, kind="stable"))


def _each_ns(
    recording: Recording, thread: int, start_ns: Int64, end_ns: Int64, columns: tuple[str, str]
) -> npt.NDArray[np.float64] | None:
    """The part of a sum in each stretch of time; None if it is not known.

    columns: its names in `ThreadTimes`, and in `LiveSteps`.
    """
    of_readings, of_steps = columns
    times, steps = _times_of(recording, thread), recording[LiveSteps].counted()
    os_threads = recording.os_threads()
    times = times.take(getattr(times, of_readings) >= 0)
    if len(times) == 0:
        return None
    known = (os_threads[steps.thread] == os_threads[thread]) & (getattr(steps, of_steps) >= 0)
    steps = steps.take(known & (steps.end_ns > steps.start_ns))
    sums_ns, each_ns = getattr(times, of_readings), getattr(steps, of_steps)
    moments_ns, sums_ns = _by_steps(times.time_ns, sums_ns, steps, each_ns)
    at_start_ns, at_end_ns = (np.interp(each, moments_ns, sums_ns) for each in (start_ns, end_ns))
    return np.asarray(np.maximum(at_end_ns - at_start_ns, 0))


def _by_steps(
    time_ns: Int64, sum_ns: Int64, steps: LiveSteps, each_ns: Int64
) -> tuple[Int64, npt.NDArray[np.float64]]:
    """Moments in order, and the sum at each: in steps what was read at their ends."""
    order = np.argsort(steps.start_ns, kind="stable")
    steps, each_ns = steps.take(order), each_ns[order]
    moments_ns = distinct(np.concatenate([time_ns, steps.start_ns, steps.end_ns]))
    between_ns = np.diff(np.interp(moments_ns, time_ns, sum_ns))
    step = np.searchsorted(steps.start_ns, moments_ns[:-1], "right") - 1
    inside = np.flatnonzero((step >= 0) & (moments_ns[1:] <= np.append(steps.end_ns, -1)[step]))
    step = step[inside]
    part = np.diff(moments_ns)[inside] / (steps.end_ns - steps.start_ns)[step]
    between_ns[inside] = each_ns[step] * part
    return moments_ns, np.append(0.0, np.cumsum(between_ns))


def wait_readings(recording: Recording, thread: int) -> WaitReadings:
    """What a thread read of its waiting, in order. thread: the system's number."""
    rows = recording[WaitReadings]
    rows = rows.take(recording.os_threads()[rows.thread] == thread)
    return rows.take(np.argsort(rows.end_ns, kind="stable"))


def held_up(trace: Trace) -> HeldUp:
    """Returns whether threads waited for a processor long enough to distort times."""
    waited, start_ns = waited_ns(trace.recording), trace.start_ns
    if waited is None or start_ns is None or trace.end_ns is None:
        return HeldUp.UNKNOWN
    return HeldUp.YES if waited >= _UNDISTURBED * (trace.end_ns - start_ns) else HeldUp.NO


def is_busy(trace: Trace) -> bool:
    """Whether threads waited so long for a processor that sums of times mislead; False if not known."""
    every_ns, main_ns = waited_ns(trace.recording), waited_ns(trace.recording, main=True) or 0
    if every_ns is None or trace.start_ns is None or trace.end_ns is None:
        return False
    wall_ns = trace.end_ns - trace.start_ns
    return wall_ns > 0 and (main_ns >= _BUSY_MAIN * wall_ns or every_ns >= _BUSY_ALL * wall_ns)


def misleads(self_ns: int, typical_ns: int) -> bool:
    """Whether outliers are a large part of a sum."""
    return (self_ns - typical_ns) * _MISLED > self_ns


def stood_still(recording: Recording, cpu_ns: Int64, time_ns: Int64) -> Mask:
    """A mask of the samples in which a thread waited.

    The time in which the main thread waited for a processor is subtracted, for all threads alike. If the CPU
    time of some threads is known, a thread without it waited: idle threads have none.
    """
    could_run = 1 - _part_held_up(recording)
    known = cpu_ns >= 0
    return np.where(known, cpu_ns < RUNNING * could_run * time_ns, known.any())


def _part_held_up(recording: Recording) -> float:
    """Returns the part of the recording in which the main thread waited for a processor; 0 if not known."""
    waited = waited_ns(recording, main=True)
    start_ns, stop_ns = (recording.number(moment, "monotonic_ns") for moment in ("start", "stop"))
    if waited is None or start_ns is None or stop_ns is None or stop_ns <= start_ns:
        return 0
    return min(max(waited / (stop_ns - start_ns), 0), 1)
