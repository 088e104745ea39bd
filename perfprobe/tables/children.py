"""Child processes of a recorded program: those that recorded themselves, and the others."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64


class Lost(NamedTuple):
    """Children that were not recorded. kind, command, recipe: as in `collect.commands`."""

    kind: str
    command: str
    recipe: str
    processes: int

    @property
    def is_python(self) -> bool:
        """Whether it runs Python, which could have been recorded."""
        return self.kind not in ("other", "compiler")

    @property
    def is_of_compiler(self) -> bool:
        """Whether torch.compile started them for its own work."""
        return self.kind == "compiler"


@frozen
class Children:
    """All that is known of child processes.

    Attributes:
        recordings: files of children that recorded themselves, including children of children, each with its
            start method.
        missing: number of the process's own children whose recordings are missing.
        lost: children that were not recorded, by command.
        cpu_ns: CPU time of all that have ended; None if not known.
    """

    recordings: tuple[tuple[str, str], ...] = ()
    missing: int = 0
    lost: tuple[Lost, ...] = ()
    cpu_ns: int | None = None

    def did_most(self, own_ns: int | None) -> bool:
        """Whether they used more CPU time than the process itself, which used `own_ns`."""
        return (self.cpu_ns or 0) > (own_ns or 0)


class ChildTimes(NamedTuple):
    """How long a DataLoader's worker had run, and waited for a processor, at these times.

    The sums begin with the first of them. worked_ns, slept_ns: how long it made batches, and which part of
    that it did neither.
    """

    time_ns: Int64
    run_ns: Int64
    wait_ns: Int64
    worked_ns: int
    slept_ns: int
