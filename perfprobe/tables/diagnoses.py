"""What is slow in a program: judgements with their evidence, made by `diagnose`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from perfprobe.support.frozen import frozen
from perfprobe.tables.device_account import DeviceGroup
from perfprobe.tables.imports import Import
from perfprobe.tables.steps import StartUpPart, StepPhase


class Cause(Enum):
    """What takes the time. The values are stable ids."""

    START_UP = "start-up"  # took longer than all steps
    AFTER = "after-steps"  # outside of the steps, after the first one
    GPU_OPERATOR = "gpu-operator"  # of a GPU's time
    EVALUATION = "evaluation"
    DATA = "data"
    COLLECTION = "garbage-collection"
    COMPILE = "compile"
    IMPORT = "import"
    RANKS = "ranks"  # waiting for other ranks
    LOCK = "lock"  # waiting for Python's lock
    GPU = "gpu"  # waiting for a GPU
    LAUNCHES = "launches"  # a GPU waits until the program launches more
    SYNCHRONISED = "synchronised"  # the same, after the program waited for the GPU
    BETWEEN_KERNELS = "between-kernels"  # gaps between kernels that wait in a GPU's queue
    COPIES = "copies"  # of a GPU
    THREADS = "threads"
    SHORT_OPERATORS = "short-operators"
    LINE = "line"
    FUNCTION = "function"  # of the program, over several lines
    MODULE = "module"
    FORWARD_ONLY = "forward-only"  # a module of which no backward runs
    CONVERSIONS = "conversions"  # copies into another layout, in several lines
    MODULES = "modules"  # those of one class, which a line calls one after another
    OPERATOR = "operator"  # where no lines are known
    UNEXPLAINED = "unexplained"
    IMPORTS = "imports"
    PYTHON = "python"
    WAITING = "waiting"  # the main thread, for anything


class Base(Enum):
    """What the share of a judgement is of. The values are stable ids."""

    STEPS = "steps"  # the steps' own time
    LOOP = "loop"  # the time of steps and evaluations
    RUN = "run"  # the wall time
    GPU = "gpu"  # a GPU's time in the steps
    GPU_RUN = "gpu-run"  # a GPU's time from its first to its last work
    OPERATORS = "operators"  # the operators' time
    THREADS = "threads"  # the Python time of all threads


@frozen
class Crowd:
    """Too many threads: how many torch uses, how many cores are allowed, waiting as a share of CPU time.

    problem: the name of a problem of `Teams` that says more than these numbers.
    """

    torch: int
    allowed: float
    waited: float
    problem: str | None = None


@frozen
class Short:
    """Short operators.

    calls: how many in all steps. of_data: the most that can be work on data, as a share. reads: how many of
    them read a single value, where these are many. of_updates: the share of the optimizer, where it has many.
    """

    calls: int
    of_data: float
    reads: int | None = None
    of_updates: float | None = None


@frozen(kw_only=True)
class Diagnosis:
    """A judgement about the program.

    base: what `share` is of. time_ns: in a step, on average, for the bases STEPS and GPU; else of the run.
    error: two standard deviations of the share. stands_out: whether it is large enough to be called a
    bottleneck. gain: how much faster the base would be if it took no time, None where another change would do
    more. frame: the user's line with most of it. line_ns: the time at that line, in a step. phases: its time
    by phase, in all steps. steps: in how many of them it was seen; for evaluations their number. lines: the
    first and the last line of a function that have time. module: the path of the module. is_own: whether it
    is about the module without those in it. name: the operator, a row of `Strings`. row: the operator, a row
    of the steps' operators, or of all without steps. called: the library's function with most of it, a row of
    `Strings`. group: of a GPU's time, its leaves.
    """

    cause: Cause
    base: Base = Base.STEPS
    time_ns: int
    share: float
    error: float = 0.0
    stands_out: bool = False
    gain: float | None = None
    frame: int = -1
    line_ns: int = 0
    phases: Mapping[StepPhase, int]
    steps: int = -1
    lines: tuple[int, int] | None = None
    module: str | None = None
    is_own: bool = False
    name: int = -1
    row: int = -1
    called: int = -1
    crowd: Crowd | None = None
    short: Short | None = None
    part: StartUpPart | None = None
    imported: Import | None = None
    group: DeviceGroup | None = None

    @property
    def phase(self) -> StepPhase | None:
        """The phase with most of its time."""
        return next(iter(self.phases), None)


@frozen
class Diagnoses:
    """All judgements, the bottleneck first.

    steps: the number of steps of the leading loop that count. base: what these steps are judged by.
    """

    found: tuple[Diagnosis, ...]
    steps: int
    base: Base = Base.STEPS

    @property
    def by_gpu(self) -> bool:
        """Whether the shares of the steps, or of the run, are of a GPU's time."""
        return self.base in (Base.GPU, Base.GPU_RUN)

    @property
    def slow(self) -> Diagnosis | None:
        """The bottleneck; None if nothing stands out."""
        return self.found[0] if self.found and self.found[0].stands_out else None

    @property
    def in_steps(self) -> Diagnosis | None:
        """The bottleneck of the steps; None if nothing stands out in them."""
        return next((each for each in self.found if each.base is self.base and each.stands_out), None)

    def of(self, cause: Cause) -> list[Diagnosis]:
        """All judgements of this kind, the largest first."""
        return [each for each in self.found if each.cause is cause]

    @property
    def second(self) -> Diagnosis | None:
        """What comes after the bottleneck: in the steps the largest that competes with it; else None."""
        first = self.in_steps
        if first is None or first is not self.slow:
            return first
        left = 1 - first.share + first.error
        others = (each for each in self.found if each is not first and _competes(each, first))
        return max((each for each in others if each.share <= left), key=lambda each: each.share, default=None)

    @property
    def is_close(self) -> bool:
        """Whether the second may be larger than the bottleneck, given the errors of both."""
        first, second = self.slow, self.second
        if first is None or second is None or first.base is not self.base:
            return False
        if second.share >= first.share:  # a wait comes before larger lines
            return False
        return first.share - first.error < second.share + second.error


def _competes(each: Diagnosis, first: Diagnosis) -> bool:
    """Whether it is about other time of the same base than the first: short operators are those of a line."""
    is_same = first.short is not None and each.frame == first.frame
    return each.base is first.base and each.crowd is None and each.short is None and not is_same


@frozen
class Outside:
    """Where most time outside of operators was spent, in the whole run; first what happens only once."""

    found: tuple[Diagnosis, ...]


@frozen
class HottestOperator:
    """The row of all operators to be named first: by typical time, or by its sum if long calls lead.

    row: a row of `Hotspots`. other: the first by typical time if long calls lead; otherwise one whose sum is
    far larger because of outliers; -1 if there is none. by_sum: whether `row` comes first because of its long
    calls. long_calls_lead: whether long calls took nearly all operator time: rows by typical time are then a
    small rest of it.
    """

    row: int
    other: int
    by_sum: bool
    long_calls_lead: bool
