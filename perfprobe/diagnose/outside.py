"""The functions of the program with most time outside of operators, and where the main thread waited.

Times are without waiting for a processor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.models.imports import called_from_user
from perfprobe.models.waiting import stood_still
from perfprobe.tables.columns import Int32, Int64, Mask, Rows
from perfprobe.tables.python import CallStructure, Look, Origin, SampledStacks
from perfprobe.tables.stacks import Frames, Stacks
from perfprobe.tables.trace import Trace


class Passed(NamedTuple):
    """Time in a function of the program and what it called, outside of operators and imports.

    frame: its line with most of that time. line_ns: the time of this line. called: the name of the library's
    function that had most of it, -1 if the line itself had. lines: the first and the last line with time.
    """

    time_ns: int
    frame: int
    line_ns: int
    called: int
    lines: tuple[int, int] | None = None


def busiest(trace: Trace, structure: CallStructure) -> Passed | None:
    """The function of the program in which code ran longest; None if none ran."""
    rows = _in_python(trace, structure)
    rows = rows.take(~_stood_still(trace, rows) & ~_once(trace, structure, rows))
    return _passed(trace, structure, rows)


def longest_compile(trace: Trace, structure: CallStructure) -> Passed | None:
    """The function of the program for which torch.compile worked longest on the main thread; None if none.

    Operators that run for tracing count, and so does waiting.
    """
    rows = structure.sampled
    rows = rows.take(
        (rows.look == Look.READ) & (rows.stack >= 0) & trace.recording.main_thread()[rows.thread]
    )
    rows = rows.take(trace.sites.is_compile[rows.stack] & (trace.sites.frame[rows.stack] >= 0))
    rows = rows.take(structure.python.imports.importer[rows.stack] < 0)
    return _passed(trace, structure, rows)


def longest_wait(trace: Trace, structure: CallStructure) -> Passed | None:
    """The function of the program in which the main thread waited longest; None if not known.

    `called` is the function that the line called, not the deepest one, because that says more to the user.
    """
    rows = _in_python(trace, structure)
    rows = rows.take(_stood_still(trace, rows) & trace.recording.main_thread()[rows.thread])
    rows = rows.take(~_once(trace, structure, rows))
    if len(rows) == 0:
        return None
    time_ns, frame, at, _ = _longest(trace, rows)
    stacks, frames = trace.recording[Stacks], trace.recording[Frames]
    stack = called_from_user(trace, structure.python, int(at.stack[at.own_ns.argmax()]))
    called = -1 if stack is None else int(frames.function[stacks.frame[stack]])
    return Passed(time_ns, frame, int(at.own_ns.sum()), called)


def _passed(trace: Trace, structure: CallStructure, rows: SampledStacks) -> Passed | None:
    """The function of the program and the line with most time in these samples; None without samples."""
    if len(rows) == 0:
        return None
    time_ns, frame, at, lines = _longest(trace, rows)
    code, _ = _largest(structure.python.of_stack[at.stack], at.own_ns)
    return Passed(time_ns, frame, int(at.own_ns.sum()), _library(structure, code), lines)


def _longest(trace: Trace, rows: SampledStacks) -> tuple[int, int, SampledStacks, tuple[int, int]]:
    """The time of the program's longest function; its longest line, the samples there; its lines."""
    frames, frame = trace.recording[Frames], trace.sites.frame[rows.stack]
    functions = np.stack([column[frame] for column in (frames.file, frames.function, frames.first_line)])
    _, number = np.unique(functions, axis=1, return_inverse=True)
    function, time_ns = _largest(number.reshape(-1), rows.own_ns)
    rows, frame = rows.take(number.reshape(-1) == function), frame[number.reshape(-1) == function]
    line, _ = _largest(frame, rows.own_ns)
    lines = frames.line[frame]
    return time_ns, line, rows.take(frame == line), (int(lines.min()), int(lines.max()))


def _in_python(trace: Trace, structure: CallStructure) -> SampledStacks:
    """Samples of the program's Python outside of operators."""
    rows = structure.sampled
    rows = rows.take((rows.look == Look.READ) & (rows.stack >= 0) & (rows.name < 0))
    return rows.take((structure.python.of_stack[rows.stack] >= 0) & (trace.sites.frame[rows.stack] >= 0))


def _once(trace: Trace, structure: CallStructure, rows: SampledStacks) -> Mask:
    """Returns which samples are in imports or torch.compile. A longer run would not have more of these."""
    return (structure.python.imports.importer[rows.stack] >= 0) | trace.sites.is_compile[rows.stack]


def _stood_still(trace: Trace, rows: SampledStacks) -> Mask:
    return stood_still(trace.recording, rows.cpu_ns, rows.time_ns)


def _largest(keys: Int32 | Rows, time_ns: Int64) -> tuple[int, int]:
    """The key with most time, and how much."""
    found, number = np.unique(keys, return_inverse=True)
    sums = np.bincount(number.reshape(-1), weights=time_ns)
    return int(found[sums.argmax()]), int(sums.max())


def _library(structure: CallStructure, code: int) -> int:
    """The name of a function that is not the program's, else -1."""
    if code < 0 or structure.python.code.origin[code] == Origin.USER:
        return -1
    return int(structure.python.code.function[code])
