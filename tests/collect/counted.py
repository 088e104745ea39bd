"""Runs a program under perfprobe and under plain cProfile, and converts both results to one format."""

from __future__ import annotations

import os
import pstats
import re
import sys
from collections import Counter
from pathlib import Path

from perfprobe.tables import storage
from perfprobe.tables.python import Calls, Functions
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from tests.collect.runs import Outcome, finish, start

# Sets have the same order in every run, and torch's threads do not compete by spinning.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}

# A function in the format of pstats: file, first line, name. C functions have file "~" and line 0.
Function = tuple[str, int, str]
Counts = dict[Function, tuple[int, int]]  # calls, and non-recursive calls
Edges = Counter[tuple[Function, Function]]


def count(
    folder: Path, *words: str, python: str = "cprofile", name: str = "run"
) -> tuple[Outcome, Recording]:
    """Runs `python -m perfprobe` with these words; returns the outcome and the recording."""
    path = folder / f"{name}.perfprobe"
    ours = ["-m", "perfprobe", "-q", "--python", python, "--operators", "off", "-o", str(path)]
    outcome = finish(start([*ours, *words], folder, ENVIRONMENT))
    return outcome, storage.read(path)


def plain(folder: Path, *words: str, name: str = "run") -> pstats.Stats:
    """Runs `python -m cProfile` with these words."""
    path = folder / f"{name}.pstats"
    outcome = finish(start(["-m", "cProfile", "-o", str(path), *words], folder, ENVIRONMENT))
    assert path.exists(), outcome.err
    return pstats.Stats(str(path))


def functions(recording: Recording, thread: int | None = None) -> list[Function]:
    """The function of each row of `functions`."""
    table = recording[Functions]
    return [
        _function(
            recording[Strings][table.file[row]] if table.file[row] >= 0 else "~",
            int(table.first_line[row]),
            recording[Strings][table.function[row]],
        )
        for row in range(len(table))
    ]


def ours(recording: Recording, *, thread: int | None = None) -> Counts:
    """Calls by function, of all threads or of one."""
    table, found, primitive = recording[Functions], Counter[Function](), Counter[Function]()
    for row, function in enumerate(functions(recording)):
        if thread is None or table.thread[row] == thread:
            found[function] += int(table.calls[row])
            primitive[function] += int(table.primitive_calls[row])
    return {function: (calls, primitive[function]) for function, calls in found.items()}


def our_edges(recording: Recording) -> Edges:
    """Calls by caller and callee."""
    of_row, table = functions(recording), recording[Calls]
    found: Edges = Counter()
    for row in range(len(table)):
        found[of_row[table.caller[row]], of_row[table.callee[row]]] += int(table.calls[row])
    return found


def theirs(stats: pstats.Stats) -> Counts:
    """The same by plain cProfile."""
    rows = stats.stats.items()  # type: ignore[attr-defined]
    return {_function(*function): (row[1], row[0]) for function, row in rows}


def their_edges(stats: pstats.Stats) -> Edges:
    """The same by plain cProfile."""
    found: Edges = Counter()
    for callee, row in stats.stats.items():  # type: ignore[attr-defined]
        for caller, figures in row[4].items():
            found[_function(*caller), _function(*callee)] += figures[0]
    return found


def _function(file: str, line: int, name: str) -> Function:
    # pstats has unqualified names, and addresses differ between runs.
    if file == "~":
        return file, 0, re.sub(r"0x[0-9a-f]+", "0x", name)
    # Under plain cProfile a script has the name that was given, here its full path.
    place = os.path.realpath(file) if os.path.isabs(file) else file
    shown = "main.py" if place.endswith("/main.py") else place
    return shown, line, name.rpartition(".")[2] if sys.version_info >= (3, 11) else name
