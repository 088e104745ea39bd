"""Two versions of a program compared: what differs, by how much, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from perfprobe.models.paired import LIMIT, Difference, Verdict
from perfprobe.support.frozen import frozen
from perfprobe.tables.account import LeafKind
from perfprobe.tables.run_value import Measure
from perfprobe.tables.steps import StepPhase
from perfprobe.tables.trace import Line

# Phases that are a place by themselves, whatever runs in them.
NAMED_PHASES = (StepPhase.DATA, StepPhase.COPY, StepPhase.COMPILE, StepPhase.COLLECTION)
_FEWEST_SHARED = 0.5


class Match(Enum):
    """How a row of one version was found in the other."""

    SAME = "same"  # the same text of the line in the same function
    EDITED = "edited"  # the line's text changed: the same operator in the same function and module
    MOVED = "moved"  # probably: the same operator of the same module elsewhere
    NEW = "new"
    GONE = "gone"


class Part(NamedTuple):
    """A part of a step, by texts, so that it means the same in every recording.

    path: the file's, from the project's root; "" without a line. text_hash: of the line, -1 if not known.
    offset: of the line in its function. operator: "" for Python. signature: "" if not known. module: its
    path, with `*` in place of numbers.
    """

    kind: LeafKind
    phase: StepPhase
    path: str = ""
    function: str = ""
    line: int = -1
    offset: int = -1
    text_hash: int = -1
    operator: str = ""
    signature: str = ""
    module: str = ""

    @property
    def place(self) -> Line | None:
        """Its line; None if it has none."""
        return Line(self.path, self.line, self.function) if self.path else None


class Change(NamedTuple):
    """A number of both versions with an interval.

    low, high: interval of the difference over the pairs; None with fewer than five. chance: how likely as
    large a difference is if there is none, with all rows counted (Holm); None if it was not computed.
    """

    before: float
    after: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None

    @property
    def by(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def is_certain(self) -> bool:
        """Whether the difference is not 0: by its chance, else by its interval."""
        if self.chance is not None:
            return self.chance <= 0.05
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


@frozen(kw_only=True)
class PartChange:
    """A part of the step in both versions; times and calls are of a step, the mean over the runs.

    before, after: None if the version does not have it. calls_ns, each_ns: what more calls and longer calls
    add: their sum is the difference; None of Python and of new and gone parts. signatures: those of each
    version, most time first. modules: of the part with most time.
    """

    match: Match
    before: Part | None
    after: Part | None
    time_ns: Change
    calls: Change
    calls_ns: float | None
    each_ns: float | None
    signatures: tuple[Sequence[str], Sequence[str]] = ((), ())

    @property
    def is_certain(self) -> bool:
        """Whether its time differs, all rows counted. Small rows are not tested: many differ by chance."""
        return self.time_ns.chance is not None and self.time_ns.is_certain

    @property
    def part(self) -> Part:
        """As the later version has it, if it does."""
        found = self.before if self.after is None else self.after
        assert found is not None
        return found


@frozen(kw_only=True)
class Count:
    """A number that has no noise, or a text.

    is_certain: whether it differs for certain. line: the place, if it is of one.
    """

    name: str
    before: float | str | None
    after: float | str | None
    is_certain: bool
    line: Line | None = None

    @property
    def differs(self) -> bool:
        """Whether both are known, and not equal."""
        return self.before is not None and self.after is not None and self.before != self.after


@frozen(kw_only=True)
class Mismatch:
    """Why both are not, or not quite, comparable. forbids: whether the difference therefore says nothing."""

    text: str
    forbids: bool = False


@frozen(kw_only=True)
class Comparison:
    """Two versions of a program.

    Attributes:
        names: of the versions.
        runs: numbers of runs. steps: of their steps that count, of all together.
        measure: what the step is measured by.
        paired: whether the runs are pairs.
        unpaired: why runs that could have been pairs are not; "" if they are.
        step: None without steps.
        step_ns: the mean over the runs of their mean steps. median_ns: the same of their median steps.
        rows: the parts, the largest difference first. phases: the same time by phase.
        waited_ns: waiting for a processor; None if it was not measured, or if it is no part of the step.
        unattributed_ns: what is left of the difference of the step; None without rows.
        with_rows: numbers of runs that have rows.
        shared: the part of the time in parts that both versions have; None without rows.
        figures: further measured numbers by name: memory, start-up, GPU.
        counts: numbers without noise.
        mismatches: what is not comparable.
    """

    names: tuple[str, str]
    runs: tuple[int, int]
    steps: tuple[int, int]
    measure: Measure
    paired: bool
    unpaired: str
    step: Difference | None
    step_ns: Change | None
    median_ns: Change | None
    rows: Sequence[PartChange]
    phases: dict[StepPhase, Change]
    waited_ns: Change | None
    unattributed_ns: float | None
    with_rows: tuple[int, int]
    shared: float | None
    figures: dict[str, Change]
    counts: Sequence[Count]
    mismatches: Sequence[Mismatch]

    @property
    def is_comparable(self) -> bool:
        """Whether the difference says anything."""
        return not self.is_strange and not any(each.forbids for each in self.mismatches)

    @property
    def is_strange(self) -> bool:
        """Whether less than half of the time is in parts that both versions have."""
        return self.shared is not None and self.shared < _FEWEST_SHARED

    def verdict(self, limit: float = LIMIT) -> Verdict:
        """What the runs say of the step."""
        if self.step is None or not self.paired or not self.is_comparable:
            return Verdict.UNKNOWN
        return self.step.verdict(limit)


@frozen(kw_only=True)
class Spot:
    """Where the step differs: all rows of a line, or of what has no line.

    part: the one with most of the difference. main: its row, if that has nearly all of the difference. phase:
    None if rows of several phases differ.
    """

    part: Part
    phase: StepPhase | None
    main: PartChange | None
    rows: Sequence[PartChange]
    time_ns: Change
    is_certain: bool

    @property
    def by_ns(self) -> float:
        """After minus before."""
        return self.time_ns.by


@frozen(kw_only=True)
class Changed:
    """What a comparison says in short.

    where: the spot with most of the difference; also: others that matter, in order. same: phases that did not
    change, and by how much at most. figures: names of figures that changed. verdict, limit: of the step.
    """

    verdict: Verdict
    limit: float
    where: Spot | None
    also: Sequence[Spot]
    phase: StepPhase | None
    same: Sequence[StepPhase]
    same_ns: float
    figures: Sequence[str]


class Outcome(Enum):
    """What a gate says."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "cannot tell"


@frozen(kw_only=True)
class Gate:
    """A limit. name: what is compared. limit: in its unit, "" for a number; None: any change."""

    text: str
    name: str
    limit: float | None
    unit: str


@frozen(kw_only=True)
class GateResult:
    """What came of a gate. why: in a few words."""

    gate: Gate
    outcome: Outcome
    why: str
