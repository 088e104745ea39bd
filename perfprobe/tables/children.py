"""The child processes of a recorded program: those that recorded themselves, and those that did not."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables import storage
from perfprobe.tables.recording import Recording

_MOST_LOOKED_AT = 1000  # files whose names begin as the recording's
_MOST_KINDS = 100


class Lost(NamedTuple):
    """Children that were not recorded. kind, command, recipe: as `collect.commands` has them."""

    kind: str
    command: str
    recipe: str
    processes: int

    @property
    def is_python(self) -> bool:
        """Whether there is Python in it, which could have been recorded."""
        return self.kind not in ("other", "compiler")

    @property
    def is_of_compiler(self) -> bool:
        """Whether torch.compile started them for itself."""
        return self.kind == "compiler"


@frozen
class Children:
    """All that is known of them.

    recordings: the files of those that recorded themselves, children of children too; missing: how many of
    the process's own should have, and are not there; lost: by command; cpu_ns: of all that have ended, None
    not known.
    """

    recordings: tuple[str, ...] = ()
    missing: int = 0
    lost: tuple[Lost, ...] = ()
    cpu_ns: int | None = None


def children(recording: Recording) -> Children:
    """The children of the process that this recording is of; files are looked for beside it."""
    spawned, cpu_ns = (recording.number("children", name) for name in ("spawned", "cpu_ns"))
    found = list(_recordings(recording))
    own = [path for path, parent in found if parent == recording.fact("program", "pid")]
    return Children(
        recordings=tuple(path for path, _ in found),
        missing=max(int(spawned or 0) - len(own), 0),
        lost=tuple(_lost(recording)),
        cpu_ns=None if cpu_ns is None else int(cpu_ns),
    )


def _lost(recording: Recording) -> Iterator[Lost]:
    rows = recording.fact("children", "started")
    for row in rows[:_MOST_KINDS] if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        kind, command, recipe = (row.get(name) for name in ("kind", "command", "recipe"))
        count = row.get("count")
        is_sound = isinstance(kind, str) and isinstance(command, str) and isinstance(recipe, str)
        if is_sound and isinstance(count, int) and 0 < count < 2**62:
            yield Lost(str(kind), str(command), str(recipe), int(count))


def _recordings(recording: Recording) -> Iterator[tuple[str, int]]:
    """Each with the PID of its parent. A child of `run.perfprobe` writes `run-4711.perfprobe`, by its PID."""
    process = recording.fact("program", "pid")
    if not isinstance(process, int):
        return
    stem = recording.path.removesuffix(storage.SUFFIX)
    found = sorted(glob.iglob(f"{glob.escape(stem)}-*{storage.SUFFIX}"), key=len)[:_MOST_LOOKED_AT]
    family = {process}
    for path in found:  # the shorter name is the parent's
        program = storage.facts(path).get("program")
        parent, own = (
            (program.get(key) for key in ("parent_pid", "pid")) if isinstance(program, dict) else (0, 0)
        )
        if isinstance(own, int) and isinstance(parent, int) and parent in family:
            family.add(own)
            yield path, parent
