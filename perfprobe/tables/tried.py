"""Changes that were tried on a program in pairs of runs, and what came of them."""

from __future__ import annotations

from enum import Enum

from perfprobe.support.frozen import frozen


class Outcome(Enum):
    """What came of a try."""

    HELPS = "helps"
    SLOWER = "slower"
    SAME = "no gain"  # a gain that matters is ruled out
    UNKNOWN = "cannot tell"
    DIFFERS = "differs"  # the program computes something else
    FAILED = "failed"
    NOT_TRIED = "not tried"


@frozen(kw_only=True)
class Applied:
    """A word that was put on.

    Attributes:
        times: how often.
        place: the program's line where it was first, as it is shown; "" if none.
        code: the same change in the source, in general.
        file, line: of that place, relative to the program's folder; "" if it is not in there.
    """

    word: str
    times: int
    place: str
    code: str
    file: str = ""
    line: int = -1


@frozen(kw_only=True)
class Tried:
    """One try.

    Attributes:
        words: of `perfprobe run --try`; several are tried together.
        gain: time of the unchanged program divided by that with the change, the geometric mean of the pairs;
            None without a pair.
        low, high: its interval; None with fewer than five pairs.
        pairs: number of pairs.
        step_ns: the mean over its runs of a step with what lies between steps; None without a run.
        result: whether the program computes the same, in words; "" if it was not compared.
        is_checked: whether it certainly computes the same, as far as the change lets it.
        why: of what failed, what it said.
    """

    words: tuple[str, ...]
    outcome: Outcome
    applied: tuple[Applied, ...] = ()
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    step_ns: float | None = None
    result: str = ""
    is_checked: bool = False
    why: str = ""

    @property
    def name(self) -> str:
        """Its words."""
        return "+".join(self.words)


@frozen(kw_only=True)
class Proposed:
    """A change that a rule proposes.

    Attributes:
        what: in a few words. place: the program's line, "" if none.
        gain: how much faster steps would be at most; None if that is not known.
        tries: words of `perfprobe run --try`; () if the program has to be edited.
    """

    what: str
    place: str
    gain: float | None
    tries: tuple[str, ...]


@frozen(kw_only=True)
class Trial:
    """All tries of a program.

    Attributes:
        program: its command line, as it was typed, without secrets.
        step_ns: the mean over the unchanged runs of a step with what lies between steps, or of a run.
        by_steps: whether it is of steps.
        steps: how many each run had.
        runs, time_s: how many runs there were, and how long all took.
        itself: how the unchanged program repeats itself.
        tried: each try, in the order asked for.
        proposed: what rules propose, if no try was named.
        stack: what helped, together; None if it was not asked for, or nothing did.
        diff: what is recommended as a unified diff, as far as it is an argument of a call; "" if nothing is.
        dropped: words that helped alone and did not in the stack.
        stopped: why it ended early, "" if it did not.
        exit_code: 0, or that of an interrupt.
    """

    program: str
    step_ns: float
    by_steps: bool
    steps: int
    runs: int
    time_s: float
    itself: str
    tried: tuple[Tried, ...]
    proposed: tuple[Proposed, ...] = ()
    stack: Tried | None = None
    diff: str = ""
    dropped: tuple[str, ...] = ()
    stopped: str = ""
    exit_code: int = 0

    @property
    def best(self) -> Tried | None:
        """What is recommended: the stack, or the try that gains most."""
        if self.stack is not None and self.stack.outcome is Outcome.HELPS:
            return self.stack
        helping = [each for each in self.tried if each.outcome is Outcome.HELPS]
        return max(helping, key=lambda each: each.gain or 0, default=None)
