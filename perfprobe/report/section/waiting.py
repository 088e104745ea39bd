"""Where the main thread waited: the function of the program that led there."""

from __future__ import annotations

import numpy as np

from perfprobe.report.section.function_columns import names
from perfprobe.tables.python import Calling, Look, Origin
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.trace import Trace


def longest_wait(trace: Trace, calling: Calling, busy: float) -> tuple[str, int]:
    """`sleeper at truth.py:12`, and for how many ns; "", 0 where none is known.

    Args:
        busy: the share of time on a processor with less of which a stack was waiting.
    """
    recording, python, rows = trace.recording, calling.python, calling.sampled
    waits = (rows.look == Look.READ) & (rows.stack >= 0) & (rows.name < 0)
    waits &= (rows.cpu_ns >= 0) & (rows.cpu_ns < busy * rows.time_ns)
    waits &= recording.main_thread()[rows.thread]
    if not bool(waits.any()):
        return "", 0
    of_stack = python.of_stack[:-1]
    is_user = (of_stack >= 0) & np.append(python.code.origin == Origin.USER, False)[of_stack]
    place = nearest(recording[Stacks].parent, is_user)[rows.stack[waits]]
    code, time_ns = python.of_stack[place[place >= 0]], rows.time_ns[waits][place >= 0]
    sums = np.bincount(code, weights=time_ns, minlength=1)
    longest = int(sums.argmax())
    function = calling.functions.take(calling.functions.code == longest)
    for name in names(trace, python.code, function):
        where, _, what = name.rpartition(" ")
        return f"{what} at {where}", int(sums[longest])
    return "", 0
