"""The kind of each thread, how often it was switched, and on which processors it ran."""

from __future__ import annotations

import re

import numpy as np

from perfprobe.models.lock import lock_waits
from perfprobe.support.pattern import pattern
from perfprobe.tables.columns import Int32, Int64, Mask, distinct
from perfprobe.tables.events import Threads
from perfprobe.tables.processors import ThreadTimes, ThreadWaits
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import ThreadInventory, ThreadKind

# As torch, Python's `threading` and NVIDIA's driver name their threads.
_NAMES = (
    (pattern(r"autograd"), ThreadKind.AUTOGRAD),
    (pattern(r"pin_memory|pt_pin"), ThreadKind.PIN_MEMORY),
    (pattern(r"inter-?op|pt_thread_pool|thread_pool", re.IGNORECASE), ThreadKind.INTEROP),
    (pattern(r"cuda|nvidia|nvrm", re.IGNORECASE), ThreadKind.CUDA),
)


def inventory(recording: Recording, waits: ThreadWaits) -> ThreadInventory:
    """A row for each row of `waits`, in the same order."""
    kinds = [
        _kind(recording, thread, is_own=is_own, is_main=is_main)
        for thread, is_own, is_main in zip(
            waits.thread.tolist(), waits.is_perfprobe.tolist(), waits.is_main.tolist(), strict=True
        )
    ]
    of_thread = recording.os_threads()
    rows = [_switches(recording[ThreadTimes], of_thread, int(of_thread[thread])) for thread in waits.thread]
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    lock_ns = lock_waits(recording) or {}
    return ThreadInventory(
        thread=waits.thread,
        kind=np.array(kinds, np.int8),
        voluntary=columns[0],
        involuntary=columns[1],
        processors=columns[2].astype(np.int32),
        processor=columns[3].astype(np.int32),
        lock_ns=np.array([lock_ns.get(int(of_thread[thread]), -1) for thread in waits.thread], np.int64),
    )


def _kind(recording: Recording, thread: int, *, is_own: bool, is_main: bool) -> ThreadKind:
    if is_own or is_main:
        return ThreadKind.PERFPROBE if is_own else ThreadKind.MAIN
    name = thread_name(recording, thread)
    named = next((kind for pattern, kind in _NAMES if pattern.search(name)), None)
    if named is not None:
        return named
    if bool(python_threads(recording)[thread]):
        return ThreadKind.PYTHON
    return ThreadKind.OPENMP if name in _process_names(recording) else ThreadKind.OTHER


def thread_name(recording: Recording, thread: int) -> str:
    """The name that the program gave a thread, otherwise the kernel's. thread: a row of `threads`."""
    threads = recording[Threads]
    given = recording.text("python_threads", str(threads.os_thread[thread]))
    return given or recording[Strings][threads.name[thread]]


def python_threads(recording: Recording) -> Mask:
    """Returns which rows of `threads` ran Python or are named by Python; one more entry for no thread."""
    os_thread = recording.os_threads()
    samples = recording[Samples]
    seen = distinct(samples.thread[(samples.look != Look.NO_PYTHON) & (samples.thread >= 0)])
    named = recording.fact("python_threads")
    numbers = {int(number) for number in (named if isinstance(named, dict) else {}) if number.isdecimal()}
    numbers |= set(os_thread[seen].tolist())
    return np.array([number in numbers for number in os_thread.tolist()], np.bool_)


def _process_names(recording: Recording) -> set[str]:
    """The names of threads that nobody named: the kernel gives them the name of their creator."""
    rows = recording.main_thread()[:-1]
    names = recording[Threads].name[rows]
    return {recording[Strings][name] for name in names.tolist()} - {""}


def _switches(times: ThreadTimes, of_thread: Int64, number: int) -> tuple[int, int, int, int]:
    """Voluntary and involuntary switches, how many processors were used, the last one; -1 if not read."""
    rows = times.take((of_thread[times.thread] == number) & (times.voluntary >= 0))
    if len(rows) == 0:
        return -1, -1, -1, -1
    rows = rows.take(np.argsort(rows.time_ns, kind="stable"))
    seen: Int32 = rows.processor[rows.processor >= 0]
    last = int(seen[-1]) if len(seen) else -1
    known = len(distinct(seen)) if len(seen) else -1
    return int(rows.voluntary[-1]), int(rows.involuntary[-1]), known, last
