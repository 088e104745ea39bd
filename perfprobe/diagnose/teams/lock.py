"""Rule: threads wait for Python's global lock, which lets one of them run at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.teams.known import PART, WAITED, Found, Known
from perfprobe.models.lock import lock_samples, lock_waited_ns
from perfprobe.tables.teams import ThreadProblem


def lock(known: Known) -> Iterator[Found]:
    """Threads waited for Python's global lock, which lets one of them run at a time."""
    samples = lock_samples(known.recording)
    waited_ns = lock_waited_ns(samples)
    cost_ns = int(waited_ns.sum())
    if cost_ns < WAITED * known.processors.wall_ns or cost_ns == 0:
        return
    by_thread = np.bincount(samples.thread, weights=waited_ns)
    threads = int((by_thread >= PART * cost_ns).sum())
    frame = np.where(samples.stack >= 0, known.trace.sites.frame[samples.stack], -1)
    by_frame = np.bincount(frame + 1, weights=waited_ns)  # the first one is of no line
    by_frame[0] = 0
    yield Found(ThreadProblem.LOCK, threads, cost_ns, int(by_frame.argmax()) - 1)
