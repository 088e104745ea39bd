"""How long threads waited for Python's global lock, by the share of samples that found them waiting."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording


def lock_samples(recording: Recording) -> Samples:
    """The samples for which the kernel told whether the thread waited."""
    samples = recording[Samples]
    return samples.take((samples.lock_looks >= 0) & (samples.looks > 0))


def lock_waited_ns(samples: Samples) -> Int64:
    """For each of these samples, how long its thread waited for the lock, in ns."""
    share = np.minimum(samples.lock_looks / samples.looks, 1)
    return np.asarray(np.rint(share * (samples.end_ns - samples.start_ns)), np.int64)


def lock_waits(recording: Recording) -> dict[int, int] | None:
    """How long each thread waited in ns, by the kernel's number; None if it is not known."""
    samples = lock_samples(recording)
    if len(samples) == 0:
        return None
    number = recording.os_threads()[samples.thread]
    threads, at = np.unique(number, return_inverse=True)
    waited_ns = np.bincount(at, weights=lock_waited_ns(samples))
    return dict(zip(threads.tolist(), waited_ns.astype(np.int64).tolist(), strict=True))
