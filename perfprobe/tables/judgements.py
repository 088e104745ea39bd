"""Judgements that a report words in a line: each is made by a rule in `diagnose`."""

from __future__ import annotations

from enum import Enum

from perfprobe.support.frozen import frozen
from perfprobe.tables.compilations import CompiledFunction
from perfprobe.tables.memory import MemoryLines
from perfprobe.tables.modes import Mode
from perfprobe.tables.steps import StepKind


@frozen
class Starved:
    """A thread waited much for a processor. share: of the time that it had one.

    by_others: whether other processes had it, or threads of the program; None if not known. of_run: whether
    it is the main thread of a run without steps, rather than the loop's in the steps. of_workers: whether
    some of it was waiting for DataLoader's workers, while these waited.
    """

    share: float
    by_others: bool | None
    of_run: bool
    of_workers: bool = False


@frozen
class HeldUpTeam:
    """Threads that share the work of operators waited for each other, because others had the processors.

    threads: their number. free: about how many processors the others left, at least one.
    """

    threads: int
    free: int


@frozen
class Idle:
    """A server waited for requests. share: of the time from the first step to the last; frame: where."""

    time_ns: int
    share: float
    frame: int


@frozen
class Noise:
    """The smallest change of the median step that these steps would show, as a share of it."""

    share: float


@frozen
class NeedlessGraph:
    """Autograd recorded in this many of all calls of a kind that trains nothing."""

    kind: StepKind
    recorded: int
    number: int


@frozen
class NeedlessGraphs:
    """All kinds of calls in which autograd recorded needlessly for a noteworthy time."""

    found: tuple[NeedlessGraph, ...]


@frozen
class OtherRank:
    """This rank waits much for another one, a row of `Ranks`."""

    rank: int


@frozen
class Throttled:
    """The GPUs that were throttled for a noteworthy time, by the driver's numbers."""

    devices: frozenset[int]


@frozen
class MemoryGrowth:
    """Lines whose memory grows from step to step, most growth first.

    is_noteworthy: whether all memory grows so much that it ends a longer run. devices: GPUs of which the
    memory does, by the driver's numbers.
    """

    lines: MemoryLines
    is_noteworthy: bool
    devices: frozenset[int]


@frozen
class Rising:
    """What rises from step to step. frame: the line that makes steps slower, -1 if it is not one line."""

    slower: bool
    frame: int
    memory: bool


@frozen
class SlowDtype:
    """Operators that compute in a dtype for which a CPU is slow.

    dtype: torch's name. share: of the steps. frame: the line that converts most to it, -1 if none does.
    """

    dtype: str
    share: float
    frame: int


@frozen
class Growing:
    """Calls of `cat` at a line that each copy the result of the one before. share: of the steps."""

    frame: int
    calls: int
    share: float


@frozen
class NeedlessForward:
    """Forward of which no backward ran. frame: its line with most time. share: that of all, of the steps."""

    frame: int
    share: float


@frozen
class Recomputed:
    """Forward that backward computes again. frame: its line with most time. share: of the steps."""

    frame: int
    share: float


@frozen
class FewerProcessors:
    """The main thread may use fewer processors than when the program began."""

    before: int
    after: int


@frozen
class GrowingWorkers:
    """Workers of a DataLoader whose own memory grows. loader: its row in `Loaders`. bytes: of each worker."""

    loader: int
    grown_bytes: int


@frozen
class Recompiled:
    """A function that was compiled again and again. is_cut: earlier compilations are not known."""

    function: CompiledFunction
    is_cut: bool


@frozen
class SlowModes:
    """Modes of torch that the program left on, the longest first."""

    found: tuple[Mode, ...]


class LoaderRemedy(Enum):
    """What helps a program that waits for DataLoader's workers."""

    UNKNOWN = "unknown"
    NOTHING = "nothing"  # it hardly waits
    PERSISTENT = "persistent"  # it waits for workers that start again and again
    RECEIVING = "receiving"  # batches are ready, to receive them takes the time
    NO_PROCESSOR = "no processor"  # nothing: no processor is left for one more worker
    WORKER = "worker"


@frozen
class LoaderVerdict:
    """One DataLoader. mostly_starts: whether starting its workers again is what the program waits for."""

    mostly_starts: bool
    remedy: LoaderRemedy


@frozen
class LoaderVerdicts:
    """A verdict for each row of `Loaders`."""

    found: tuple[LoaderVerdict, ...]
