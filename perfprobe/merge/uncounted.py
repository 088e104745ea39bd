"""Finds threads that ran Python and that cProfile could not count: only samples have them."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Mask, among, distinct
from perfprobe.tables.events import Losses
from perfprobe.tables.python import Functions, Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings

_UNABLE = ("3.10.", "3.11.")  # from 3.12 the interpreter counts all threads
_BOOTSTRAP = ("Thread._bootstrap", "_bootstrap")  # qualified names from 3.11


def uncounted(recording: Recording) -> list[Losses]:
    """Returns one loss for threads on which neither `threading` nor anything else set the profile hook.

    A thread that `threading` started is counted, even if none of its calls has returned.
    """
    version = recording.text("versions", "python") or ""
    if not version.startswith(_UNABLE) or len(recording[Functions]) == 0 or len(recording[Samples]) == 0:
        return []
    of_thread = recording.os_threads()
    samples, ended_ns = recording[Samples], recording.counts_ended_ns
    until_ns = np.inf if ended_ns is None else ended_ns
    read = (samples.look == Look.READ) & (samples.stack >= 0) & (samples.start_ns < until_ns)
    sampled = distinct(of_thread[samples.thread[read]])
    hooked = distinct(of_thread[samples.thread[read & _is_started_by_threading(recording)]])
    counted = distinct(of_thread[recording[Functions].thread])
    known = np.append(hooked, [-1, recording.number("program", "pid") or -1])
    missing = sampled[~among(sampled, np.append(known, counted))]
    if len(missing) == 0:
        return []
    threads = len(distinct(np.append(sampled, counted)))
    reason = f"calls on {len(missing):,} of {threads:,} threads: `threading` did not start them"
    return [Losses.one("cprofile", reason, -1, "Python 3.12 or later counts them too")]


def _is_started_by_threading(recording: Recording) -> Mask:
    """A mask of the samples whose stack begins in a thread's first function of `threading`."""
    strings, frames, stacks = recording[Strings], recording[Frames], recording[Stacks]
    first = [
        strings[function] in _BOOTSTRAP and strings[file].endswith("/threading.py")
        for function, file in zip(frames.function.tolist(), frames.file.tolist(), strict=True)
    ]
    is_first = np.append(np.array(first, np.bool_), False)[stacks.frame]
    found = np.append(nearest(stacks.parent, is_first) >= 0, False)
    return np.asarray(found[recording[Samples].stack])
