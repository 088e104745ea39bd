"""Finds when child processes of a recorded program ran, and which are not recorded, as losses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfprobe.models.waiting import stood_still
from perfprobe.tables.children import Children, Lost
from perfprobe.tables.columns import Int64
from perfprobe.tables.events import Losses
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording

_SOURCE = "processes"


def children_ran(recordings: Iterable[Recording]) -> tuple[Int64, Int64] | None:
    """Returns starts and ends of the times in which recorded children ran, by samples; None without any.

    recordings: those of the children.
    """
    found: list[tuple[Int64, Int64]] = []
    for child in recordings:
        samples = child[Samples]
        time_ns = samples.end_ns - samples.start_ns
        # A thread that ran and then waited in the same function has one row.
        ran_ns = np.where(samples.cpu_ns < 0, time_ns, np.minimum(samples.cpu_ns, time_ns))
        ran = ~stood_still(child, samples.cpu_ns, time_ns)
        found.append((samples.start_ns[ran], (samples.start_ns + ran_ns)[ran]))
    if not found:
        return None
    starts_ns, ends_ns = zip(*found, strict=True)
    return np.concatenate(starts_ns), np.concatenate(ends_ns)


def lost_children(children: Children) -> list[Losses]:
    """Returns a loss for each command with Python, and one each for others, for compilers, for lost files."""
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
