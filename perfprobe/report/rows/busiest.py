"""In which Python functions time passed outside of operators, or the main thread waited."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.report.rows.function_times import cpu_ns
from perfprobe.report.rows.functions import Function, functions
from perfprobe.tables.python import Calling, Look, Origin
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.trace import Trace

_BUSY = 0.05  # of the time on a processor: what had less was waiting


class Passed(NamedTuple):
    """Time that passed in a function."""

    function: Function
    time_ns: int


def busiest(trace: Trace, calling: Calling) -> list[Passed]:
    """The functions that ran in no operator, the longest first; waiting does not count."""
    rows = calling.functions
    rows = rows.take((rows.neither_ns > 0) & (cpu_ns(calling, rows) >= _BUSY * rows.own_ns))
    rows = rows.take(np.argsort(-rows.neither_ns, kind="stable"))
    found = functions(trace, calling.python.code.take(rows.code))
    return [Passed(*each) for each in zip(found, rows.neither_ns.tolist(), strict=True)]


def longest_wait(trace: Trace, calling: Calling) -> Passed | None:
    """Where the main thread waited: the function of the program that led there, None where none is known."""
    recording, python, rows = trace.recording, calling.python, calling.sampled
    waits = (rows.look == Look.READ) & (rows.stack >= 0) & (rows.name < 0)
    waits &= (rows.cpu_ns >= 0) & (rows.cpu_ns < _BUSY * rows.time_ns)
    waits &= recording.main_thread()[rows.thread]
    if not bool(waits.any()):
        return None
    of_stack = python.of_stack[:-1]
    is_user = (of_stack >= 0) & np.append(python.code.origin == Origin.USER, False)[of_stack]
    place = nearest(recording[Stacks].parent, is_user)[rows.stack[waits]]
    code, time_ns = python.of_stack[place[place >= 0]], rows.time_ns[waits][place >= 0]
    sums = np.bincount(code, weights=time_ns, minlength=1)
    longest = int(sums.argmax())
    if longest not in calling.functions.code:
        return None
    (function,) = functions(trace, python.code.take(slice(longest, longest + 1)))
    return Passed(function, int(sums[longest]))
