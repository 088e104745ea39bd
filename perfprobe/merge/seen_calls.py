"""Finds the stacks of CUDA API calls outside of operators, from the sampler.

A sample of a thread within a call has the stack that made the call. Long calls, which wait for a GPU, contain
a sample. For short calls the stack is unknown.
"""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.gpu import ApiCalls
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.threads import each_thread


def seen_stacks(recording: Recording, calls: ApiCalls, thread: Int64) -> Int32:
    """Returns the stack of the first sample within each call; -1 if none. thread: OS thread of each call."""
    samples = recording[Samples]
    looks = samples.take((samples.look == Look.READ) & (samples.stack >= 0))
    looks = looks.take(np.argsort(looks.end_ns, kind="stable"))  # a sample is taken at its end
    of_thread = dict(each_thread(recording.os_threads()[looks.thread]))
    found = np.full(len(calls), -1, np.int32)
    for key, rows in each_thread(thread):
        own = of_thread.get(key) if key != -1 else None
        if own is not None:
            time_ns = np.append(looks.end_ns[own], np.iinfo(np.int64).max)
            place = np.searchsorted(time_ns, calls.start_ns[rows])
            within = time_ns[place] <= calls.end_ns[rows]
            found[rows[within]] = looks.stack[own[place[within]]]
    return found
