"""Finds when child processes of a recorded program ran, and which are not recorded, as losses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfprobe.models.waiting import stood_still
from perfprobe.tables.children import Children, ChildTimes, Lost
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.events import Losses
from perfprobe.tables.processors import ThreadTimes
from perfprobe.tables.python import Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.stacks import Frames, Stacks, nearest
from perfprobe.tables.strings import Strings

_SOURCE = "processes"
_WORKER, _FETCH = "torch/utils/data/_utils/worker.py", "torch/utils/data/_utils/fetch.py"


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


def worker_times(recordings: Iterable[Recording]) -> list[ChildTimes]:
    """How long each of DataLoader's workers ran and waited, of those for which the scheduler was read."""
    found = (_times(child) for child in recordings if bool(_below(child, _WORKER).any()))
    return [each for each in found if each is not None]


def _times(child: Recording) -> ChildTimes | None:
    """The sums at the worker's samples. Before, its first reading has all since its main thread began."""
    main, samples, readings = child.main_thread(), child[Samples], child[ThreadTimes]
    readings = readings.take(main[readings.thread] & (readings.wait_ns >= 0))
    if len(readings) == 0:
        return None
    first = readings.take(readings.time_ns.argsort()[:1])
    samples = samples.take((samples.wait_ns >= 0) & (samples.cpu_ns >= 0))
    samples = samples.take(np.argsort(samples.end_ns, kind="stable"))
    begin_ns = first.time_ns - first.run_ns - first.wait_ns
    making = samples.take(_below(child, _FETCH)[samples.stack] & main[samples.thread])
    worked_ns, could_run_ns = (
        int(each.sum()) for each in (making.end_ns - making.start_ns, making.cpu_ns + making.wait_ns)
    )
    return ChildTimes(
        time_ns=np.maximum.accumulate(np.concatenate([begin_ns, first.time_ns, samples.end_ns])),
        run_ns=np.cumsum(np.concatenate([[0], first.run_ns, samples.cpu_ns])),
        wait_ns=np.cumsum(np.concatenate([[0], first.wait_ns, samples.wait_ns])),
        worked_ns=worked_ns,
        slept_ns=max(worked_ns - could_run_ns, 0),  # of a row alone, waiting may be in the next one
    )


def _below(child: Recording, file: str) -> Mask:
    """Returns which stacks contain a function of this file; one more entry is for none."""
    strings, frames, stacks = child[Strings], child[Frames], child[Stacks]
    of_file = strings.marks(lambda text: text.endswith(file))[frames.file]
    return np.append(nearest(stacks.parent, of_file[stacks.frame]) >= 0, False)


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
