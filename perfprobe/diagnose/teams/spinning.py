"""Rule: members of a team keep running although there is no work for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.diagnose.teams.known import Found, Known
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import ThreadProblem
from perfprobe.tables.trace import Trace

# Of the wall time.
_SPUN = 0.03  # helpers spun for longer than they do by default
_SPUN_BRIEFLY = 0.1  # helpers spun, also as they do by default
_POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def spinning(known: Known) -> Iterator[Found]:
    """Helpers keep running although no operator runs and the callers wait."""
    rows, spun_ns, is_late = known.teams.activity, known.teams.helpers_spun_ns, known.teams.is_late
    if len(rows) == 0:
        return
    by_setting_ns, wall_ns = int(spun_ns[is_late].sum()), known.processors.wall_ns
    if by_setting_ns >= _SPUN * wall_ns:
        said = ", ".join(_policies(known.recording))
        seen = is_late & (spun_ns > 0)
    elif int(spun_ns.sum()) >= _SPUN_BRIEFLY * wall_ns:
        said = "each time up to some 10 ms after an operator, as OpenMP does by default"
        seen = spun_ns > 0
    else:
        return
    frame = _sampled_frame(known.trace, rows.start_ns[seen], rows.end_ns[seen])
    yield Found(ThreadProblem.SPINNING, int(rows.helpers[seen].max()), int(spun_ns[seen].sum()), frame, said)


def _policies(recording: Recording) -> Iterator[str]:
    for name in _POLICIES:
        value = recording.text("environment", name)
        if value:
            yield f"{name}={value}"


def _sampled_frame(trace: Trace, start_ns: Int64, end_ns: Int64) -> int:
    """The user line that samples of the main thread show most in these intervals, -1 none.

    The intervals must be in order, without overlaps.
    """
    recording = trace.recording
    samples = recording[Samples]
    is_main = recording.main_thread()[samples.thread] & (samples.look == Look.READ) & (samples.stack >= 0)
    samples = samples.take(is_main)
    if len(samples) == 0:
        return -1
    moments = np.column_stack((start_ns, end_ns)).ravel()
    passed = np.column_stack(
        (np.cumsum(end_ns - start_ns) - (end_ns - start_ns), np.cumsum(end_ns - start_ns))
    )
    begun, ended = (np.interp(at, moments, passed.ravel()) for at in (samples.start_ns, samples.end_ns))
    frame = trace.sites.frame[samples.stack]
    inside: Mask = frame >= 0
    if not bool(inside.any()):
        return -1
    by_frame = np.bincount(frame[inside], weights=(ended - begun)[inside])
    return int(by_frame.argmax()) if by_frame.max() > 0 else -1
