"""What to change in a program, at which line, how that can be tried, and how its result is checked."""

from __future__ import annotations

from enum import Enum

from perfprobe.support.frozen import frozen
from perfprobe.tables.trace import Line


class Check(Enum):
    """How much a change may change what the program computes."""

    SAME_BITS = "same bits"
    CLOSE = "within 1e-5"
    DTYPE = "within the dtype's budget"
    TRAINING = "cannot be checked: changes training"


class Got(Enum):
    """How the share was got."""

    BOUNDED = "bounded"  # all that the change is about, times what is known to be saved of it at most
    REPLAYED = "replayed"  # operators were measured with the change, alone, by `perfprobe bench`


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
        what: the change in a few words: "num_workers=2".
        line: the line that is changed, where it is not that of the frame, but where what it uses was made.
        got: how the share was got.
        least, most: of the steps, the interval of the share where operators were measured; else from nothing
            to the share.
    """

    rule: str
    frame: int
    share: float
    tries: tuple[str, ...]
    check: Check
    snippet: str
    what: str = ""
    line: Line | None = None
    got: Got = Got.BOUNDED
    least: float = 0.0
    most: float = -1.0


@frozen(kw_only=True)
class Untold:
    """A rule without its data. needs: the option that would give it."""

    rule: str
    needs: str


@frozen
class Advice:
    """All changes that rules propose, most share first, and the rules that cannot tell.

    best: the change to make first, None if none is worthwhile.
    """

    changes: tuple[Change, ...]
    untold: tuple[Untold, ...]
    best: Change | None = None
