"""Child processes that are not in the recording, as losses."""

from __future__ import annotations

from perfprobe.tables.children import Children, Lost
from perfprobe.tables.events import Losses

_SOURCE = "processes"


def lost_children(children: Children) -> list[Losses]:
    """A row for each command with Python; one for all others, for torch.compile's, and for lost files."""
    rows = [
        Losses.one(_SOURCE, f"child processes were not recorded: {lost.command}", lost.processes, lost.recipe)
        for lost in children.lost
        if lost.is_python
    ]
    others = [lost for lost in children.lost if not lost.is_python and not lost.is_of_compiler]
    rows += _together("child processes other than Python were not recorded", others)
    of_compiler = [lost for lost in children.lost if lost.is_of_compiler]
    rows += _together("processes that torch.compile started for itself were not recorded", of_compiler)
    if children.missing:
        reason = "recordings of child processes are missing beside this recording"
        rows.append(
            Losses.one(
                _SOURCE,
                reason,
                children.missing,
                "keep its folder of children beside it; killed ones may have left nothing",
            )
        )
    return rows


def _together(reason: str, lost: list[Lost]) -> list[Losses]:
    if not lost:
        return []
    names = ", ".join(f"{each.command} ({each.processes:,})" for each in lost)
    return [Losses.one(_SOURCE, f"{reason}: {names}", sum(each.processes for each in lost))]
