"""Differences between successive readings of thread times."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.events import Threads
from perfprobe.tables.processors import ProcessorTimes, ThreadTimes
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_OWN_NAME = "perfprobe-own"  # the name of every thread that perfprobe starts (csrc/core/native_thread.cpp)


@frozen
class Changes:
    """Rows of `ThreadTimes` as differences, sorted by thread and time.

    What a thread did before the first reading is left out.

    Attributes:
        reading: row of `ProcessorTimes`; 0 is the first.
        wait_ns: -1 if not known.
    """

    reading: Rows
    thread: Int32
    run_ns: Int64
    wait_ns: Int64
    is_perfprobe: Mask
    is_main: Mask


_kept: WeakKeyDictionary[ThreadTimes, Changes] = WeakKeyDictionary()


def changes(recording: Recording) -> Changes | None:
    """Returns all differences; None if fewer than two readings were recorded."""
    times, readings = recording[ThreadTimes], recording[ProcessorTimes]
    if len(readings) < 2 or len(times) == 0:
        return None
    if times not in _kept:
        _kept[times] = _changes(recording, times, readings)
    return _kept[times]


def _changes(recording: Recording, times: ThreadTimes, readings: ProcessorTimes) -> Changes:
    order = np.lexsort((times.time_ns, times.thread))
    times = times.take(order)
    is_first = np.append(True, times.thread[1:] != times.thread[:-1])
    known_before = is_first & (times.time_ns <= readings.time_ns.min())
    is_own = own_threads(recording)
    wait_ns = _differences(times.wait_ns, is_first, known_before)
    return Changes(
        reading=np.searchsorted(np.sort(readings.time_ns), times.time_ns),
        thread=times.thread,
        run_ns=_differences(times.run_ns, is_first, known_before),
        wait_ns=np.where(times.wait_ns < 0, -1, wait_ns),
        is_perfprobe=is_own[times.thread],
        is_main=recording.main_thread()[times.thread],
    )


def own_threads(recording: Recording) -> Mask:
    """Returns which rows of `threads` are perfprobe's own. The last entry, for no thread, is False."""
    strings, threads = recording[Strings], recording[Threads]
    return np.array([strings[name] == _OWN_NAME for name in threads.name.tolist()] + [False], bool)


def _differences(sums_ns: Int64, is_first: Mask, known_before: Mask) -> Int64:
    """Subtracts the thread's previous row. A thread's first row counts fully, unless it was known before."""
    since_ns = np.diff(sums_ns, prepend=0)
    since_ns[is_first] = sums_ns[is_first]
    since_ns[known_before] = 0
    return np.maximum(since_ns, 0)
