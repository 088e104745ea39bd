"""Finds the files of a recorded program's child processes, beside its recording."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from itertools import islice

import numpy as np

from perfprobe.support.errors import InputError
from perfprobe.tables import child_sums, storage
from perfprobe.tables.children import Children, Lost
from perfprobe.tables.recording import Recording
from perfprobe.tables.workers import ChildKind, StartMethod, Workers

_MOST_LOOKED_AT = 1000  # files whose names begin like the recording's
_MOST_KINDS = 100


def children(recording: Recording) -> Children:
    """Returns the children of the recorded process. Their files are searched beside its recording."""
    spawned, forked, cpu_ns = (recording.number("children", key) for key in ("spawned", "forked", "cpu_ns"))
    started = int(spawned or 0) + int(forked or 0)
    found = list(_recordings(recording))
    absent = max(started - _own(recording, [parent for _, _, parent in found]), 0)
    return Children(
        recordings=tuple((path, method) for path, method, _ in found),
        missing=absent + _gone(recording),
        lost=tuple(_lost(recording)),
        cpu_ns=None if cpu_ns is None else int(cpu_ns),
    )


def sums(recording: Recording) -> Workers:
    """Returns what children of `multiprocessing` wrote; no rows if there are none.

    Raises:
        InputError: the file is missing or damaged.
    """
    folder = _folder(recording)
    if folder is None:
        return Workers.empty()
    found = child_sums.read(os.path.join(folder, child_sums.FILE))
    return _descendants(found, recording) if _is_of_child(recording) else found


def _descendants(workers: Workers, recording: Recording) -> Workers:
    """Returns the rows of this process's children. Other processes of its family use the same folder."""
    parents = workers.parent.tolist()
    children: dict[int, list[int]] = {}
    for process, parent in zip(workers.process.tolist(), parents, strict=True):
        children.setdefault(parent, []).append(process)
    family, waiting = set[int](), [int(recording.number("program", "pid") or 0)]
    while waiting:
        process = waiting.pop()
        if process not in family:
            family.add(process)
            waiting += children.get(process, ())
    return workers.take(np.array([parent in family for parent in parents], np.bool_))


def detailed_workers(recording: Recording, workers: Workers) -> Iterator[tuple[int, str]]:
    """Yields process and recording of each DataLoader worker that has one."""
    rows = (workers.kind == ChildKind.LOADER) & (workers.detail > 0)
    for process in workers.process[rows].tolist():
        path = _path_of(recording, process)
        if os.path.exists(path):
            yield process, path


def siblings(recording: Recording) -> list[str]:
    """The recordings beside that of a rank which may be of the same job, itself included.

    They are in its folder of children, or differ only in `rank0`, which is added to the name that `-o` gives.
    """
    folder, name = os.path.split(recording.path)
    own = f"rank{recording.rank_fact('rank')}"
    pattern = "*" if _is_of_child(recording) else glob.escape(name).replace(own, "rank*")
    found = glob.iglob(os.path.join(glob.escape(folder), pattern))
    return sorted(path for path in islice(found, _MOST_LOOKED_AT) if path.endswith(storage.SUFFIX))


def _folder(recording: Recording) -> str | None:
    """Returns the folder in which the children of this process, and their children, wrote."""
    name = recording.text("children", "folder")
    if _is_of_child(recording):
        return os.path.dirname(recording.path)
    # Never outside of the recording's own folder, because a recording is untrusted.
    if not name or name != os.path.basename(name) or name in (".", ".."):
        return None
    return os.path.join(os.path.dirname(recording.path), name)


def _gone(recording: Recording) -> int:
    """Returns how many recordings of children were completed but are missing."""
    try:
        found = sums(recording)
    except InputError:
        return 0
    rows = (found.detail > 0) & (found.ended > 0)
    paths = (_path_of(recording, process) for process in found.process[rows].tolist())
    return sum(not os.path.exists(path) for path in paths)


def _path_of(recording: Recording, process: int) -> str:
    return os.path.join(_folder(recording) or "", f"{process}{storage.SUFFIX}")


def _is_of_child(recording: Recording) -> bool:
    """Whether this recording is in a folder of children, beside those of its own children."""
    return recording.text("children", "folder") == "."


def _own(recording: Recording, parents: list[int]) -> int:
    """Returns how many of the process's own children have left something."""
    process = recording.number("program", "pid")
    try:
        found = sums(recording)
    except InputError:
        return 0
    if len(found) == 0:
        return parents.count(int(process or 0))
    return int(found.processes[(found.parent == process) | (found.processes > 1)].sum())


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


def _recordings(recording: Recording) -> Iterator[tuple[str, str, int]]:
    """Yields each recording with its start method and the PID of its parent.

    They are in the folder of children. Older versions had no folder: a child of `run.perfprobe` wrote
    `run-4711.perfprobe`.
    """
    process, folder = recording.fact("program", "pid"), _folder(recording)
    if not isinstance(process, int):
        return
    stem = recording.path.removesuffix(storage.SUFFIX)
    pattern = f"{glob.escape(stem)}-*" if folder is None else os.path.join(glob.escape(folder), "*")
    paths = sorted(glob.iglob(f"{pattern}{storage.SUFFIX}"), key=lambda path: (len(path), path))
    methods = _methods(recording)
    family = {process}
    waiting = {path: _program(path) for path in paths[:_MOST_LOOKED_AT]}
    while waiting:  # a child's child may come before the child
        known = [path for path, (parent, _) in waiting.items() if parent in family]
        if not known:
            return
        for path in known:
            parent, own = waiting.pop(path)
            family.add(own)
            yield path, methods.get(own, "spawned"), parent


def _program(path: str) -> tuple[int, int]:
    """Returns the PIDs of the parent and of the recorded process; 0 if the file does not have them."""
    program = storage.facts(path).get("program")
    found = [program.get(key) for key in ("parent_pid", "pid")] if isinstance(program, dict) else [0, 0]
    parent, own = (number if isinstance(number, int) else 0 for number in found)
    return (parent, own) if own else (0, 0)


def _methods(recording: Recording) -> dict[int, str]:
    try:
        found = sums(recording)
    except InputError:
        return {}
    words = {StartMethod.FORK: "forked", StartMethod.SPAWN: "spawned"}
    pairs = zip(found.process.tolist(), found.method.tolist(), strict=True)
    return {process: words.get(method, "spawned") for process, method in pairs}
