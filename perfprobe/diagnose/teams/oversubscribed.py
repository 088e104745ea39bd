"""Rule: torch has more threads than there are processors."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from perfprobe.diagnose.teams.known import WAITED, Found, Known
from perfprobe.support import units
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import ThreadProblem

_THROTTLED = 0.02  # of the wall time: the quota was used up


def oversubscribed(known: Known) -> Iterator[Found]:
    """torch's team has more threads than there are processors, and they waited for each other."""
    found, team = known.processors, known.teams.threads
    if team is None or team <= ceil(known.allowed):
        return
    waited_ns, throttled_ns = found.own_ns or 0, found.throttled_ns or 0
    is_throttled = throttled_ns >= _THROTTLED * found.wall_ns
    if waited_ns < WAITED * found.wall_ns and not is_throttled:
        return
    quota, affinity = found.quota_cores, found.affinity_cores
    cores = known.recording.number("host", "cores")
    kind = ThreadProblem.OVERSUBSCRIPTION
    if quota is not None and (affinity is None or quota < affinity):
        kind = ThreadProblem.QUOTA
    elif affinity is not None and cores is not None and affinity < cores:
        kind = ThreadProblem.AFFINITY
    yield Found(kind, team, max(waited_ns, throttled_ns), known.busiest_frame, _setting(known.recording))


def _setting(recording: Recording) -> str:
    """The variable that sets torch's number of threads, "" if the program or torch itself set it."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    threads = recording.number("torch", "threads")
    found = [name for name in names if recording.text("environment", name) == units.plain(threads)]
    return f"{found[0]}={units.plain(threads)}" if found else ""
