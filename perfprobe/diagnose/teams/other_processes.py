"""Rule: threads wait for processors that other processes use."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.teams.known import WAITED, Found, Known
from perfprobe.tables.teams import ThreadProblem


def other_processes(known: Known) -> Iterator[Found]:
    """Threads waited for processors that other processes used."""
    found = known.processors
    waited_ns = found.others_ns or 0
    if waited_ns >= WAITED * found.wall_ns:
        used = round(found.others_cores or 0)
        yield Found(ThreadProblem.OTHER_PROCESSES, max(used, 1), waited_ns, known.busiest_frame)
