"""The time of each thread, by samples or by cProfile."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.grouping import sums_by
from perfprobe.tables.columns import Int32, Int64, Mask, Rows, distinct
from perfprobe.tables.python import Functions, Look, Origin, PythonCode, SampledStacks, Samples, ThreadSums
from perfprobe.tables.stacks import Stacks, nearest
from perfprobe.tables.trace import Trace


def thread_sums(trace: Trace, python: PythonCode, sampled: SampledStacks) -> ThreadSums:
    """The sum of each thread's samples, or without samples of cProfile's own times; most time first, in ns.

    Args:
        python: with samples cut to the time of the program.
    """
    found = _by_samples(trace, python, sampled) if len(sampled) else _by_cprofile(trace, python)
    return found.take(np.lexsort((-found.own_ns, -found.wall_ns)))


def counts_end_ns(trace: Trace) -> int | None:
    """Returns when cProfile stopped counting, None if it counted to the end of the program.

    In a killed program it is when the counts were last written.
    """
    stop_ns = trace.recording.number("stop", "monotonic_ns")
    ended_ns = trace.recording.counts_ended_ns
    if ended_ns is None or (stop_ns is not None and ended_ns >= stop_ns):
        return None
    return int(ended_ns)


def _by_samples(trace: Trace, python: PythonCode, sampled: SampledStacks) -> ThreadSums:
    threads, row_of = _numbered(sampled.thread)
    stacks = trace.recording[Stacks]
    in_program = np.append(nearest(stacks.parent, python.of_stack[:-1] >= 0) >= 0, False)[sampled.stack]
    is_read = (sampled.look == Look.READ) & np.append(stacks.frame >= 0, False)[sampled.stack]
    no_python = sampled.look == Look.NO_PYTHON
    measured = sampled.cpu_ns >= 0

    def sums(chosen: Mask, column: Int64) -> Int64:
        return sums_by(row_of[chosen], column[chosen], len(threads))

    has_cpu = sums(measured, np.ones(len(sampled), np.int64)) > 0
    return ThreadSums(
        thread=threads,
        wall_ns=_sampled_wall_ns(trace, python.samples, threads),
        own_ns=sums(is_read & in_program, sampled.time_ns),
        perfprobe_ns=sums(is_read & ~in_program, sampled.time_ns),
        no_python_ns=sums(no_python, sampled.time_ns),
        failed_ns=sums(~is_read & ~no_python, sampled.time_ns),
        cpu_ns=np.where(has_cpu, sums(measured, sampled.cpu_ns), -1),
    )


def _sampled_wall_ns(trace: Trace, samples: Samples, threads: Int32) -> Int64:
    """The time from each thread's first sample to its last; for the main thread from start to stop."""
    first_ns = np.full(len(threads), np.iinfo(np.int64).max)
    last_ns = np.full(len(threads), np.iinfo(np.int64).min)
    row_of = np.searchsorted(threads, samples.thread)
    np.minimum.at(first_ns, row_of, samples.start_ns)
    np.maximum.at(last_ns, row_of, samples.end_ns)
    start_ns, end_ns = trace.start_ns, trace.end_ns
    if start_ns is not None and end_ns is not None:
        main = trace.recording.main_thread()[threads]
        first_ns[main], last_ns[main] = start_ns, end_ns
    return np.asarray(np.maximum(last_ns - first_ns, 0))


def _by_cprofile(trace: Trace, python: PythonCode) -> ThreadSums:
    recording, functions = trace.recording, trace.recording[Functions]
    threads, row_of = _numbered(functions.thread)
    own_files = distinct(python.code.file[python.code.origin == Origin.PERFPROBE])
    is_own = np.isin(functions.file, own_files)
    wall_ns = _none(len(threads))
    started_ns = recording.number("cprofile", "started_ns")
    ended_ns = counts_end_ns(trace)
    ended_ns = trace.end_ns if ended_ns is None else ended_ns
    if started_ns is not None and ended_ns is not None:
        wall_ns[trace.recording.main_thread()[threads]] = min(
            max(ended_ns - int(started_ns), 0), np.iinfo(np.int64).max
        )
    return ThreadSums(
        thread=threads,
        wall_ns=wall_ns,
        own_ns=sums_by(row_of[~is_own], functions.own_ns[~is_own], len(threads)),
        perfprobe_ns=sums_by(row_of[is_own], functions.own_ns[is_own], len(threads)),
        no_python_ns=_none(len(threads)),
        failed_ns=_none(len(threads)),
        cpu_ns=_none(len(threads)),
    )


def _numbered(column: Int32) -> tuple[Int32, Rows]:
    found, number = np.unique(column, return_inverse=True)
    return found, number.reshape(-1)


def _none(rows: int) -> Int64:
    return np.full(rows, -1, np.int64)
