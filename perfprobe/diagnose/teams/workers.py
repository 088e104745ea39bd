"""Rule: DataLoader's workers have a team each, and wait for processors."""

from __future__ import annotations

from collections.abc import Iterator

from perfprobe.diagnose.teams.known import Found, Known
from perfprobe.tables.teams import ThreadProblem

_WAITED = 0.2  # of their CPU time


def workers(known: Known) -> Iterator[Found]:
    """The line is not of this process: see `WorkerTeams`."""
    if known.workers is None:
        return
    teams = known.workers.several()
    most, waited_ns = int(teams.threads.sum()), int(teams.waited_ns[teams.waited_ns > 0].sum())
    if len(teams) and most > known.allowed and waited_ns >= _WAITED * int(teams.run_ns.sum()):
        yield Found(ThreadProblem.WORKERS, most, waited_ns)
