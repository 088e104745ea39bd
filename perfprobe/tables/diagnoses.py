"""What is slow in the steps of a program: judgements with their evidence, made by `diagnose`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from perfprobe.support.frozen import frozen
from perfprobe.tables.steps import StepPhase


class Cause(Enum):
    """What takes the time. The values are stable ids."""

    DATA = "data"
    COLLECTION = "garbage-collection"
    COMPILE = "compile"
    IMPORT = "import"
    THREADS = "threads"
    SHORT_OPERATORS = "short-operators"
    LINE = "line"
    MODULE = "module"
    OPERATOR = "operator"  # where no lines are known
    UNEXPLAINED = "unexplained"


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
    """Short operators: how many in all steps, and the most that can be work on data, as a share."""

    calls: int
    of_data: float


@frozen(kw_only=True)
class Diagnosis:
    """A judgement about the steps that count.

    time_ns: in a step, on average. share: of the steps' own time. error: two standard deviations of the
    share. stands_out: whether it is large enough to be called a bottleneck. gain: how much faster steps would
    be if it took no time, None where another change would do more. frame: the user's line with most of it.
    line_ns: the time at that line, in a step. phases: its time by phase, in all steps. steps: in how many of
    them it was seen. module: the path of the module. is_own: whether it is about the module without those in
    it. name: the operator, a row of `Strings`.
    """

    cause: Cause
    time_ns: int
    share: float
    error: float = 0.0
    stands_out: bool = False
    gain: float | None = None
    frame: int = -1
    line_ns: int = 0
    phases: Mapping[StepPhase, int]
    steps: int
    module: str | None = None
    is_own: bool = False
    name: int = -1
    crowd: Crowd | None = None
    short: Short | None = None

    @property
    def phase(self) -> StepPhase | None:
        """The phase with most of its time."""
        return next(iter(self.phases), None)


@frozen
class Diagnoses:
    """All judgements about the leading loop, the bottleneck first. steps: the number of steps that count."""

    found: tuple[Diagnosis, ...]
    steps: int

    @property
    def slow(self) -> Diagnosis | None:
        """The bottleneck; None if nothing stands out."""
        return self.found[0] if self.found and self.found[0].stands_out else None

    @property
    def second(self) -> Diagnosis | None:
        """The largest of what else competes with the bottleneck for the steps; None if nothing."""
        first = self.slow
        if first is None:
            return None
        left = 1 - first.share + first.error
        others = (each for each in self.found[1:] if each.crowd is None and each.short is None)
        return max((each for each in others if each.share <= left), key=lambda each: each.share, default=None)

    @property
    def is_close(self) -> bool:
        """Whether the second may be larger than the bottleneck, given the errors of both."""
        first, second = self.slow, self.second
        if first is None or second is None or second.share >= first.share:  # a wait comes before larger lines
            return False
        return first.share - first.error < second.share + second.error
