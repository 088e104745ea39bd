"""The time of tests and fixtures, by samples: what pytest's and unittest's own functions called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfprobe.analyse.grouping import most_in_each, sort_by_keys
from perfprobe.tables.columns import Int32, Int64, Mask
from perfprobe.tables.python import CallStructure, Look
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings
from perfprobe.tables.tests import Tests
from perfprobe.tables.trace import Trace

# The functions that call tests and fixtures: end of the file, end of the name. As in pytest 6 to 9.
_CALL_TESTS = (
    ("/_pytest/python.py", "pytest_pyfunc_call"),
    ("/unittest/case.py", "TestCase._callTestMethod"),
)
_CALL_FIXTURES = (("/_pytest/fixtures.py", "call_fixture_func"),)


def tests(trace: Trace, structure: CallStructure | None) -> Tests | None:
    """A row for each test and fixture, most time first; None if no test was seen."""
    if structure is None:
        return None
    found = [
        Tests(kind=np.full(len(frame), kind, object), frame=frame, time_ns=time_ns)
        for kind, callers in (("test", _CALL_TESTS), ("fixture", _CALL_FIXTURES))
        for frame, time_ns in [_called(trace, structure, callers)]
    ]
    if len(found[0]) == 0:
        return None
    rows = Tests.concat(found)
    return rows.take(np.argsort(-rows.time_ns, kind="stable"))


def _called(
    trace: Trace, structure: CallStructure, callers: tuple[tuple[str, str], ...]
) -> tuple[Int32, Int64]:
    """The functions that these call, each by its line with most time, and the time of each."""
    stacks, frames, sampled = trace.recording[Stacks], trace.recording[Frames], structure.sampled
    calls = _marks(trace, callers)[stacks.frame]
    begins = np.append(calls, False)[stacks.parent] & ~calls
    sampled = sampled.take((sampled.look == Look.READ) & (sampled.stack >= 0))
    begin = nearest(stacks.parent, begins)[sampled.stack]
    frame, time_ns = stacks.frame[begin[begin >= 0]], sampled.time_ns[begin >= 0]
    if len(frame) == 0:
        return frame, time_ns
    order, first = sort_by_keys(
        [column[frame] for column in (frames.file, frames.function, frames.first_line)]
    )
    return most_in_each(frame[order], time_ns[order], first), np.add.reduceat(time_ns[order], first)


def _marks(trace: Trace, functions: tuple[tuple[str, str], ...]) -> Mask:
    """Which frames are of these functions. The last entry, for no frame, is False."""
    strings, frames = trace.recording[Strings], trace.recording[Frames]
    found = np.zeros(len(frames), np.bool_)
    for file, function in functions:
        is_file, is_function = (strings.marks(_ends_with(text)) for text in (file, function))
        found |= is_file[frames.file] & is_function[frames.function]
    return np.append(found, False)


def _ends_with(end: str) -> Callable[[str], bool]:
    return lambda text: text.endswith(end)
