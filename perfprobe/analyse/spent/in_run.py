"""Time by stack in the whole run."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.spent.rows import between, of_operators, one_thread
from perfprobe.tables.columns import Int32, Mask
from perfprobe.tables.python import CallStructure, SampledStacks
from perfprobe.tables.spent import ApartTimes, RunSpent, SpentTime
from perfprobe.tables.trace import Trace

_BUSY = 0.1  # a thread other than the main one that uses a smaller share of CPU time only waits


def run_spent(trace: Trace, structure: CallStructure | None) -> RunSpent | None:
    """Operators as measured, and the rest of each thread's sampled time by its samples between them.

    None if no Python functions were recorded.
    """
    if structure is None:
        return None
    threads = one_thread(trace.recording.os_threads())
    sampled = structure.sampled.take(structure.sampled.name < 0)
    time_ns = np.rint(sampled.time_ns * _left(structure, threads)[threads[sampled.thread]]).astype(np.int64)
    waits = _only_wait(trace, sampled)
    rows = SpentTime.concat(
        [
            of_operators(structure.sites, np.maximum(structure.sites.self_ns, 0), threads),
            between(
                sampled.stack[~waits],
                time_ns[~waits],
                thread=threads[sampled.thread[~waits]],
                look=sampled.look[~waits],
            ),
        ]
    )
    return RunSpent(rows, int(rows.time_ns.sum()), int(time_ns[waits].sum()), 0, ApartTimes.empty())


def _left(structure: CallStructure, threads: Int32) -> np.typing.NDArray[np.float64]:
    """For each thread the part of its sampled time between operators that operators really leave."""
    sampled, sites = structure.sampled, structure.sites
    rows = len(threads)
    whole_ns = np.bincount(threads[sampled.thread] + 1, sampled.time_ns, rows)
    between_ns = np.bincount(threads[sampled.thread] + 1, sampled.time_ns * (sampled.name < 0), rows)
    operators_ns = np.bincount(threads[sites.thread] + 1, sites.self_ns, rows)
    left = np.maximum(whole_ns - operators_ns, 0) / np.maximum(between_ns, 1)
    return np.asarray(np.append(left[1:], 0))


def _only_wait(trace: Trace, rows: SampledStacks) -> Mask:
    """Returns which rows are of a thread other than the main one that only waits; none if it is not known."""
    main = trace.recording.main_thread()
    stands = (rows.stack < 0) | ((rows.cpu_ns >= 0) & (rows.cpu_ns < _BUSY * rows.time_ns))
    return np.asarray(~main[rows.thread] & stands & bool(main.any()))
