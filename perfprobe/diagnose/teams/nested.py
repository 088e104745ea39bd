"""Rule: several threads call operators, each with a team of its own."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from perfprobe.diagnose.teams.known import PART, WAITED, Found, Known
from perfprobe.tables.teams import ThreadProblem


def nested(known: Known) -> Iterator[Found]:
    """Several threads call operators, each with a team of its own."""
    found, team = known.processors, known.teams.threads
    whole_ns = sum(busiest.time_ns for busiest in known.teams.busiest_lines)
    calling = [busiest for busiest in known.teams.busiest_lines if busiest.time_ns >= max(PART * whole_ns, 1)]
    if team is None or team < 2 or len(calling) < 2 or len(calling) * team <= ceil(known.allowed):
        return
    if known.teams.team_threads < team or (found.own_ns or 0) < WAITED * found.wall_ns:
        return
    frame = max(calling, key=lambda busiest: busiest.time_ns).frame
    said = f"{len(calling)} threads with operators, each with a team of {team}"
    yield Found(ThreadProblem.NESTED, len(calling) * team, found.own_ns or 0, frame, said)
