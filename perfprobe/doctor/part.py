"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
LACK = "lack"  # does not work
NOTE = "note"  # works, or is not needed, but is worth knowing


@dataclass(frozen=True)
class Part:
    """A part of perfprobe or of the machine.

    Attributes:
        found: what was found.
        why: what this means for the user.
        remedy: what to do; "" if nothing.
    """

    part: str
    state: str
    found: str
    why: str = ""
    remedy: str = ""
