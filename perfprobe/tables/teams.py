"""All threads of a process: how many ran at a time, their kinds, and problems with their number."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Mask, Table, Text, column
from perfprobe.tables.events import Threads
from perfprobe.tables.stacks import Frames
from perfprobe.tables.trace import Line


class ThreadActivity(Table, name="thread_activity", most_rows=MOST_EVENTS):
    """CPU time of the process's threads between two ticks of the sampler, without perfprobe's threads.

    Callers are threads that run Python. Helpers are all others: teams of OpenMP, threads of libraries. A
    thread counts from the tick at which it was first seen. The sampler looks for new threads when those it
    knows do not explain the CPU time of the process.
    """

    start_ns: Int64 = column("time of the tick before")
    end_ns: Int64 = column("time of this tick")
    callers_ns: Int64 = column("CPU time of callers", combine=Combine.SUM)
    helpers_ns: Int64 = column("CPU time of helpers", combine=Combine.SUM)
    most_ns: Int64 = column("CPU time of the helper that ran most")
    helpers: Int32 = column("number of helpers that ran")


class ThreadKind(IntEnum):
    """What a thread is for. It is known from its Python code, its name and the libraries of the process."""

    OTHER = 0
    MAIN = 1
    PYTHON = 2
    AUTOGRAD = 3  # of torch's autograd engine, one for each device
    OPENMP = 4  # a member of a team: it has no name of its own
    INTEROP = 5  # of torch's pool that runs independent operators
    PIN_MEMORY = 6
    CUDA = 7
    PERFPROBE = 8


KIND_TEXTS = {
    ThreadKind.OTHER: "other",
    ThreadKind.MAIN: "main",
    ThreadKind.PYTHON: "Python",
    ThreadKind.AUTOGRAD: "autograd",
    ThreadKind.OPENMP: "team",
    ThreadKind.INTEROP: "inter-op",
    ThreadKind.PIN_MEMORY: "pin memory",
    ThreadKind.CUDA: "CUDA",
    ThreadKind.PERFPROBE: "perfprobe",
}


class ThreadInventory(Table):
    """Threads that ran, as in `ThreadWaits`. Switches count from the recording's start, -1 if not read."""

    thread: Int32 = column("the thread", Threads)
    kind: Int8 = column("a `ThreadKind`")
    voluntary: Int64 = column("how often it gave up the processor to wait", optional=True)
    involuntary: Int64 = column("how often the processor was taken from it", optional=True)
    processors: Int32 = column("number of processors that it was seen on", optional=True)
    processor: Int32 = column("number of the processor that it ran on last, -1 if not known")
    lock_ns: Int64 = column("how long it waited for Python's global lock", optional=True)


class Utilisation(IntEnum):
    """VTune's effective CPU utilisation: working threads divided by the processors that the process may use.

    Idle is less than half a processor, poor up to half of the processors, ok up to 85 % of them, ideal more.
    Over means that all of them worked and that more threads of this program were ready to run.
    """

    IDLE = 0
    POOR = 1
    OK = 2
    IDEAL = 3
    OVER = 4


class ActiveThreads(Table):
    """Mean number of threads that ran between two ticks of the sampler, or between two readings."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    active_ppm: Int64 = column("mean number of threads that ran", unit="millionths")
    helpers_ppm: Int64 = column("mean number of helpers among them", unit="millionths", optional=True)
    utilisation: Int8 = column("a `Utilisation`")


class UtilisationTimes(Table):
    """VTune's histogram of the utilisation: a row for each `Utilisation`."""

    utilisation: Int8 = column("a `Utilisation`")
    time_ns: Int64 = column("wall time with this utilisation", combine=Combine.SUM)


class ThreadProblem(IntEnum):
    """What is wrong with the number of threads, or with what they do."""

    OVERSUBSCRIPTION = 0  # torch has more threads than the machine has processors
    AFFINITY = 1  # torch has more threads than the affinity mask allows processors
    QUOTA = 2  # torch has more threads than the quota of the cgroup allows processors
    NESTED = 3  # several threads that run Python have a team each
    WORKERS = 4  # child processes have a team each
    SPINNING = 5  # members of a team run while there is no work for them
    SERIAL = 6  # an operator that leaves its team idle
    LOCK = 8  # threads wait for Python's global lock
    OTHER_PROCESSES = 7  # other processes use the processors; the program is not the cause


class ThreadProblems(Table):
    """Problems with threads, the costliest first."""

    problem: Int8 = column("a `ThreadProblem`")
    threads: Int32 = column("number of threads or processes that the problem is about")
    allowed_ppm: Int64 = column("processors that the process may use", unit="millionths", optional=True)
    cost_ns: Int64 = column("time that threads lost: they waited, spun or were idle")
    frame: Int32 = column("the user's line with most of the problem", Frames)
    name: Text = column("what explains the problem: the operator, the setting or something else")


class WorkerTeams(Table):
    """Teams of DataLoader's workers that have recordings of their own."""

    process: Int32 = column("the worker's number")
    threads: Int32 = column("number of threads in torch's team there")
    ran: Int32 = column("number of members of teams that ran")
    run_ns: Int64 = column("CPU time of its threads", combine=Combine.SUM)
    waited_ns: Int64 = column(
        "time in which its threads were ready to run but had no processor", combine=Combine.SUM, optional=True
    )
    file: Text = column("file of the user's line with most of its time")
    line: Int32 = column("number of that line, -1 if none")
    function: Text = column("function of that line")

    def several(self) -> WorkerTeams:
        """Those of more than one thread, of which any ran."""
        return self.take((self.threads > 1) & (self.ran > 0))


class OperatorTeams(Table):
    """How many threads ran while an operator ran, from pairs of ticks between which no other operator ran.

    Members of a team count whatever they do, even if they spin. Where there are enough ticks at least 15 ms
    after a call began, only these are used: by default no spinning from before the call lasts so long.
    """

    name: Int32 = column("the operator")
    signature: Int32 = column("signature of its inputs")
    frame: Int32 = column("the user's line", Frames)
    phase: Int8 = column("a `Phase`")
    self_ns: Int64 = column("self time of its calls", combine=Combine.SUM)
    seen_ns: Int64 = column("time between these pairs of ticks", combine=Combine.SUM)
    looks: Int64 = column("number of these pairs", combine=Combine.SUM)
    callers_ppm: Int64 = column("mean number of callers that ran", unit="millionths")
    helpers_ppm: Int64 = column("mean number of helpers that ran", unit="millionths")
    error_ppm: Int64 = column("two standard errors of the sum of both", unit="millionths")


class BusiestLine(NamedTuple):
    """Time in outermost operators on a thread, and the user's line with most of it, -1 none."""

    thread: int
    time_ns: int
    frame: int


@frozen
class Teams:
    """All that is known about the threads of a process.

    Attributes:
        threads: number of threads in torch's team, None if not known.
        set_at: the line of the program that set it; None if none did, as far as known.
        busiest_lines: where operators ran, one for each thread.
        activity: between each two ticks of the sampler; none if it did not run.
        helpers_spun_ns: for each of these intervals the least CPU time that helpers spun.
        is_late: for each, whether no operator ran for longer than helpers spin by default.
        team_threads: number of members of teams that ran. Torch keeps a team for each thread that calls
            operators.
    """

    inventory: ThreadInventory
    active: ActiveThreads
    times: UtilisationTimes
    operators: OperatorTeams
    busiest_lines: tuple[BusiestLine, ...]
    threads: int | None
    allowed_cores: float | None
    activity: ThreadActivity
    helpers_spun_ns: Int64
    is_late: Mask
    team_threads: int
    set_at: Line | None = None

    @property
    def spun_ns(self) -> int | None:
        """CPU time of helpers that certainly spun, None if not known."""
        return int(self.helpers_spun_ns.sum()) if len(self.activity) else None
