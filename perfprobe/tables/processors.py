"""How long threads ran and waited for a processor, as recorded and as computed, and who used it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Combine, Int32, Int64, Mask, Table, column
from perfprobe.tables.events import Threads


class ThreadTimes(Table, name="thread_times", most_rows=MOST_EVENTS):
    """A thread that ran since the previous reading. Sums begin with the thread."""

    time_ns: Int64 = column("time of the reading, a row of `processor_times`")
    thread: Int32 = column("the thread", Threads)
    run_ns: Int64 = column("CPU time")
    wait_ns: Int64 = column("time in which it was ready to run and did not, -1 if not known")
    voluntary: Int64 = column("how often it gave up the processor to wait; read once a second", optional=True)
    involuntary: Int64 = column("how often the processor was taken from it", optional=True)
    processor: Int32 = column("number of the processor that it ran on last; read once a second")


class WaitReadings(Table, name="wait_readings", most_rows=MOST_EVENTS):
    """A thread that runs operators waited for a processor between two readings, about 2 ms of its own apart.

    It reads when an operator begins or ends. Waits of less than 0.1 ms are in the next row. Only the first 16
    threads read, and none with `--keep slow`.
    """

    start_ns: Int64 = column("the reading before")
    end_ns: Int64 = column("this reading")
    thread: Int32 = column("the thread", Threads)
    wait_ns: Int64 = column("how long it was ready to run and did not")


class ProcessorTimes(Table, name="processor_times", most_rows=MOST_EVENTS):
    """A reading of all threads and of the machine. Sums begin with the kernel's counting, -1 if not known.

    busy_ns and stolen_ns are of the processors that the process may use.
    """

    time_ns: Int64 = column("time of the reading")
    process_cpu_ns: Int64 = column("CPU time of the process")
    children_cpu_ns: Int64 = column("CPU time of its child processes, including those that have ended")
    busy_ns: Int64 = column("time in which processors worked, for any process")
    stolen_ns: Int64 = column("time that the hypervisor gave to others")
    pressure_ns: Int64 = column("time in which some process on this machine waited for a processor")
    throttled_ns: Int64 = column("time in which the cgroup's quota was exhausted")
    processors: Int64 = column("number of processors that the process may use")


class ProcessorWindows(Table):
    """What happened between two readings, at least 0.5 s apart.

    waited_ns is the sum of the three kinds, each -1 if not known. own_ns: other threads or processes of the
    program had the processor, or its quota was exhausted. others_ns: other processes of the machine had
    it.
    """

    start_ns: Int64 = column("the previous reading")
    end_ns: Int64 = column("this reading")
    run_ns: Int64 = column("CPU time of the program's threads", combine=Combine.SUM)
    perfprobe_ns: Int64 = column("CPU time of perfprobe's own threads", combine=Combine.SUM)
    process_cpu_ns: Int64 = column("CPU time of the process, including threads that ended in between")
    waited_ns: Int64 = column(
        "time in which the program's threads waited for a processor", combine=Combine.SUM
    )
    own_ns: Int64 = column("the part of waited_ns for the program itself", combine=Combine.SUM)
    others_ns: Int64 = column("the part of waited_ns for other processes", combine=Combine.SUM)
    unknown_ns: Int64 = column("the part of waited_ns that neither explains", combine=Combine.SUM)
    main_run_ns: Int64 = column("CPU time of the main thread", combine=Combine.SUM)
    main_waited_ns: Int64 = column(
        "time in which the main thread waited for a processor", combine=Combine.SUM
    )
    children_cpu_ns: Int64 = column("CPU time of child processes", optional=True)
    others_cpu_ns: Int64 = column("CPU time of other processes on the allowed processors", optional=True)
    stolen_ns: Int64 = column("time that the hypervisor gave to others", optional=True)
    pressure_ns: Int64 = column("time in which some process on the machine waited", optional=True)
    throttled_ns: Int64 = column("time in which the quota was exhausted", optional=True)
    processors: Int64 = column("number of processors that the process may use", optional=True)

    def between(self, name: str, start_ns: Int64, end_ns: Int64) -> Int64:
        """Returns the part of a column in each of these intervals, spread evenly over each window.

        Returns 0 without windows.
        """
        if len(self) == 0:
            return np.zeros(len(start_ns), np.int64)
        moments_ns = np.append(self.start_ns[:1], self.end_ns)
        summed_ns = np.append(0, np.cumsum(np.maximum(getattr(self, name), 0)))
        of_end, of_start = (np.interp(at_ns, moments_ns, summed_ns) for at_ns in (end_ns, start_ns))
        return np.asarray(np.rint(of_end - of_start), np.int64)


class ThreadWaits(Table):
    """Threads, up to their last reading, most waiting first."""

    thread: Int32 = column("the thread", Threads)
    run_ns: Int64 = column("CPU time", combine=Combine.SUM)
    waited_ns: Int64 = column(
        "time in which it was ready to run and did not, -1 if not known", combine=Combine.SUM, optional=True
    )
    last_ns: Int64 = column("the last reading at which it had run")
    is_perfprobe: Mask = column("whether it is one of perfprobe's own")
    is_main: Mask = column("whether it is the main thread")


class Lack(NamedTuple):
    """What is not known, and why."""

    what: str
    why: str


@frozen
class Processors:
    """All windows together. None means not known; `lacks` says why.

    Attributes:
        wall_ns: from the first to the last reading.
        affinity_cores: processors that the process may use, the most of any window.
        quota_cores: the quota of its cgroup.
        allowed_cores: the lower of both.
        used_cores: CPU time of the process divided by wall time; children_cores: of its child processes;
            others_cores: of others on the allowed processors.
        other_run_ns: CPU time of threads that ended before they were read, whose waiting is not known.
        evidence: the kernel's files that were read.
    """

    windows: ProcessorWindows
    threads: ThreadWaits
    wall_ns: int
    affinity_cores: int | None
    quota_cores: float | None
    allowed_cores: float | None
    used_cores: float
    children_cores: float | None
    others_cores: float | None
    waited_ns: int | None
    own_ns: int | None
    others_ns: int | None
    unknown_ns: int | None
    main_waited_ns: int | None
    other_run_ns: int
    stolen_ns: int | None
    pressure_ns: int | None
    throttled_ns: int | None
    evidence: tuple[str, ...]
    lacks: tuple[Lack, ...]

    @property
    def others_share(self) -> float | None:
        """The part of the allowed processors' time that other processes used."""
        if self.others_cores is None or not self.affinity_cores:
            return None
        return self.others_cores / self.affinity_cores
