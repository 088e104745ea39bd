"""Child processes that are not in the recording, as losses."""

from __future__ import annotations

from perfprobe.tables.children import Children
from perfprobe.tables.events import Losses

_SOURCE = "processes"


def lost_children(children: Children) -> list[Losses]:
    """A row for each command with Python, one for all others, one for spawned children without a file."""
    rows = [
        Losses.one(_SOURCE, f"child processes were not recorded: {lost.command}", lost.processes, lost.recipe)
        for lost in children.lost
        if lost.is_python
    ]
    others = [lost for lost in children.lost if not lost.is_python]
    if others:
        names = ", ".join(f"{lost.command} ({lost.processes:,})" for lost in others)
        reason = f"child processes that are no Python were not recorded: {names}"
        rows.append(Losses.one(_SOURCE, reason, sum(lost.processes for lost in others)))
    if children.missing:
        reason = "recordings of spawned child processes are not beside this one"
        rows.append(
            Losses.one(
                _SOURCE, reason, children.missing, "keep them in one folder; killed ones may have none"
            )
        )
    return rows
