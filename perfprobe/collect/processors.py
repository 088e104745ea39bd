"""Records how long this process's threads ran and waited for a processor, and what other processes used.

The numbers come from the scheduler: the second one in /proc/PID/task/TID/schedstat is the time in which a
thread was ready to run and did not (Documentation/scheduler/sched-stats.rst of Linux). The recorder's writer
reads them at its heartbeats into the tables `thread_times` and `processor_times`.
"""

from __future__ import annotations

import os

from perfprobe import native
from perfprobe.collect import host
from perfprobe.collect.base import Collector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfprobe.collect.base import Facts
    from perfprobe.native import ThreadTimes

_open, _affinity = open, os.sched_getaffinity  # kept, because a program may replace them
_FILES = {"waiting": "proc/self/schedstat", "machine": "proc/stat", "pressure": "proc/pressure/cpu"}

# By root. Processes that are forked from this one need not search again.
_found: dict[str, tuple[dict[str, str], str]] = {}


class ProcessorWaits(Collector):
    """Has thread times read. The fact `processors` says what the kernel does not provide (`lacks`)."""

    name = "processors"

    def __init__(self, facts: Facts, root: str = "/") -> None:
        self._facts = facts
        self._root = root
        self._times: ThreadTimes | None = None

    def start(self) -> None:
        """Starts reading. Times before this are not the program's."""
        lacks, cpu_stat = _found.get(self._root) or _look_for_files(self._root)
        self._facts.extend("processors", lacks=lacks)
        self._times = native.core().ThreadTimes(self._facts.recorder.capsule(), self._root, cpu_stat)
        self._times.start()

    def stop(self) -> None:
        """Reads for the last time, and how many processors this thread may use now."""
        if self._times is not None:
            self._facts.extend("processors", **self._times.stop(), allowed_at_end=len(_affinity(0)))


def _look_for_files(root: str) -> tuple[dict[str, str], str]:
    """Returns why files cannot be read, and the file that says how long a quota was exhausted ("": none)."""
    lacks = {what: missing for what, path in _FILES.items() if (missing := _why_missing(f"{root}{path}"))}
    _found[root] = lacks, host.throttling(root.rstrip("/")) or ""
    return _found[root]


def _why_missing(path: str) -> str | None:
    """Returns why a file of the kernel cannot be read; None if it can."""
    try:
        with _open(path, "rb") as file:
            return None if file.read(1) else f"{path}: empty"
    except OSError as error:
        return f"{path}: {error.strerror}"
