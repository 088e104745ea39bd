"""The state of one part."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
LACK = "lack"  # does not work
NOTE = "note"  # works, or is not needed, but worth knowing


@dataclass(frozen=True)
class Part:
    """One part. found: what is there; why: its effect; remedy: what to do, "" for nothing."""

    part: str
    state: str
    found: str
    why: str = ""
    remedy: str = ""


def install(*packages: str) -> str:
    """The command that installs packages for the Python that is running."""
    import shlex
    import sys

    return f"install it with `{shlex.join([sys.executable, '-m', 'pip', 'install', *packages])}`"
