"""What to change in a program, at which line, how that can be tried, and how its result is checked."""

from __future__ import annotations

from enum import Enum

from perfprobe.support.frozen import frozen


class Check(Enum):
    """How much a change may change what the program computes."""

    SAME_BITS = "same bits"
    CLOSE = "within 1e-5"
    DTYPE = "within the dtype's budget"
    TRAINING = "cannot be checked: changes training"


@frozen(kw_only=True)
class Change:
    """One change that a rule proposes.

    Attributes:
        rule: its name, which `perfprobe explain` knows: "workers".
        frame: the line that is changed, -1 if it is none.
        share: of the steps, what the change can save at most.
        tries: words of `perfprobe run --try`, each a way to try it: ("workers=1", "workers=2"); () if it
            cannot be tried without editing the program.
        check: how its result is checked.
        snippet: the changed code, with the names of that line where they are known.
    """

    rule: str
    frame: int
    share: float
    tries: tuple[str, ...]
    check: Check
    snippet: str


@frozen(kw_only=True)
class Untold:
    """A rule without its data. needs: the option that would give it."""

    rule: str
    needs: str


@frozen
class Advice:
    """All changes that rules propose, most share first, and the rules that cannot tell."""

    changes: tuple[Change, ...]
    untold: tuple[Untold, ...]
