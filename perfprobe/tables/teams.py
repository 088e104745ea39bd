"""Threads together: what they did at a time, what kind each is, and whether their number is a problem."""

from __future__ import annotations

from enum import IntEnum

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Table, Text, column
from perfprobe.tables.events import Threads
from perfprobe.tables.stacks import Frames


class ThreadActivity(Table, name="thread_activity", most_rows=MOST_EVENTS):
    """What the process's threads ran between two ticks of the sampler, without perfprobe's own.

    Callers have Python; helpers are all others: teams of OpenMP, threads of libraries. A thread counts from
    the tick at which it was first seen, which is when known threads do not explain the process's CPU time.
    """

    start_ns: Int64 = column("the tick before")
    end_ns: Int64 = column("this tick")
    callers_ns: Int64 = column("CPU time of threads that have Python", combine=Combine.SUM)
    helpers_ns: Int64 = column("CPU time of the others", combine=Combine.SUM)
    most_ns: Int64 = column("of the helper that ran most")
    helpers: Int32 = column("how many of them ran")


class ThreadKind(IntEnum):
    """What a thread is for, by its Python, its name, and the process's libraries."""

    OTHER = 0
    MAIN = 1
    PYTHON = 2
    AUTOGRAD = 3  # of torch's engine, for a device
    OPENMP = 4  # without a name of its own: a member of a team
    INTEROP = 5  # of torch's pool for independent operators
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
    """Threads that ran, as in `ThreadWaits`; switches since the recording began, -1 where not read."""

    thread: Int32 = column("which", Threads)
    kind: Int8 = column("a `ThreadKind`")
    voluntary: Int64 = column("how often it gave up the processor to wait", optional=True)
    involuntary: Int64 = column("how often the processor was taken from it", optional=True)
    processors: Int32 = column("on how many processors it was seen", optional=True)
    processor: Int32 = column("where it ran last, -1 not known")


class Utilisation(IntEnum):
    """VTune's effective CPU utilisation: working threads by the processors that the process may use.

    Idle: less than half a processor. Poor: up to half of them; ok: up to 85 %; ideal: more. Over: as many
    worked, and more threads of this program wanted to.
    """

    IDLE = 0
    POOR = 1
    OK = 2
    IDEAL = 3
    OVER = 4


class ActiveThreads(Table):
    """How many threads ran at a time: mean between two ticks of the sampler, or between two readings."""

    start_ns: Int64 = column("when it began")
    end_ns: Int64 = column("when it ended")
    active_ppm: Int64 = column("mean number of threads that ran", unit="millionths")
    helpers_ppm: Int64 = column("of them without Python", unit="millionths", optional=True)
    utilisation: Int8 = column("a `Utilisation`")


class UtilisationTimes(Table):
    """VTune's histogram: a row for each `Utilisation`."""

    utilisation: Int8 = column("a `Utilisation`")
    time_ns: Int64 = column("wall time in which it was so", combine=Combine.SUM)


class ThreadProblem(IntEnum):
    """What is wrong with the number of threads, or with what they do."""

    OVERSUBSCRIPTION = 0  # torch has more threads than the process may use processors
    AFFINITY = 1  # the same, as the affinity mask is smaller
    QUOTA = 2  # the same, as the cgroup has a quota
    NESTED = 3  # several threads of Python have a team each
    WORKERS = 4  # child processes have a team each
    SPINNING = 5  # members of a team run while nobody has work for them
    SERIAL = 6  # an operator that leaves its team idle
    NEIGHBOURS = 7  # other processes have the processors: no fault of the program


class ThreadProblems(Table):
    """Problems, the costliest first."""

    problem: Int8 = column("a `ThreadProblem`")
    threads: Int32 = column("how many there are of what it is about")
    allowed_ppm: Int64 = column("processors that the process may use", unit="millionths", optional=True)
    cost_ns: Int64 = column("time of threads lost to it: waited, spun or idle")
    frame: Int32 = column("the user's line where it shows most", Frames)
    name: Text = column("the operator, the setting or whatever else explains it")


class WorkerTeams(Table):
    """Teams of DataLoader's workers that have recordings of their own."""

    process: Int32 = column("the worker's number")
    threads: Int32 = column("of torch's team there")
    ran: Int32 = column("members of teams that ran")
    run_ns: Int64 = column("CPU time of its threads", combine=Combine.SUM)
    waited_ns: Int64 = column(
        "how long they were ready and had no processor", combine=Combine.SUM, optional=True
    )
    file: Text = column("of the user's line with most of its time")
    line: Int32 = column("its number, -1 none")
    function: Text = column("its function")


class OperatorTeams(Table):
    """How many threads ran while an operator did, from ticks between which it alone ran.

    Whatever a team's members do counts: those that spin too.
    """

    name: Int32 = column("the operator")
    signature: Int32 = column("its inputs")
    frame: Int32 = column("the user's line", Frames)
    phase: Int8 = column("a `Phase`")
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)
    seen_ns: Int64 = column("time between such ticks", combine=Combine.SUM)
    looks: Int64 = column("how many such ticks", combine=Combine.SUM)
    callers_ppm: Int64 = column("mean number of threads with Python that ran", unit="millionths")
    helpers_ppm: Int64 = column("mean number of others that ran", unit="millionths")
    error_ppm: Int64 = column("two standard errors of the sum of both", unit="millionths")


@frozen
class Teams:
    """What is known of threads together.

    threads: of torch's team, None not known. by_ticks: whether activity is from the sampler's ticks.
    spun_ns: CPU time of helpers while no operator ran; None not known. team_threads: members of teams that
    ran; torch keeps one team for each thread that calls operators.
    """

    inventory: ThreadInventory
    active: ActiveThreads
    times: UtilisationTimes
    operators: OperatorTeams
    problems: ThreadProblems
    threads: int | None
    allowed_cores: float | None
    by_ticks: bool
    spun_ns: int | None
    team_threads: int
