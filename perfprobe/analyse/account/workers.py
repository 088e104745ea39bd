"""Waiting for processes that make the data, while these waited for a processor.

The loop's thread sleeps until a worker has a batch, or has ended. On a busy machine that worker waits for a
processor for most of this time. What other programs cause there is no more the program's own than what its
thread waits itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.looks import Looks
from perfprobe.tables.account import LeafKind, Leaves
from perfprobe.tables.children import ChildTimes
from perfprobe.tables.columns import Int64
from perfprobe.tables.processors import Processors
from perfprobe.tables.steps import StepPhase, Steps

Floats = npt.NDArray[np.float64]


def held_up_by_workers(
    leaves: Leaves, looks: Looks, workers: Sequence[ChildTimes], used_by_others: float
) -> Int64:
    """How much of each row is such waiting for data.

    used_by_others: the part of the used processor time that was not the program's.
    """
    here = looks.take((looks.phase == StepPhase.DATA) & (looks.still_ns > 0))
    if not workers or len(here) == 0 or len(leaves) == 0:
        return np.zeros(len(leaves), np.int64)
    held_ns = here.still_ns * _held_up(here.start_ns, here.end_ns, workers) * used_by_others
    by_frame = np.bincount(here.frame + 1, held_ns, int(max(leaves.frame.max(), here.frame.max())) + 2)
    of_frame_ns = by_frame[leaves.frame + 1] * (leaves.kind == LeafKind.DATA)
    return np.asarray(np.minimum(of_frame_ns, leaves.time_ns), np.int64)


def used_by_others(found: Processors | None, steps: Steps) -> float:
    """The part of the used processor time in these steps that was not the program's; 0 if not known."""
    if found is None:
        return 0
    names = ("others_cpu_ns", "process_cpu_ns", "children_cpu_ns")
    others_ns, *own_ns = (
        float(np.maximum(found.windows.between(name, steps.start_ns, steps.end_ns), 0).sum())
        for name in names
    )
    return others_ns / max(others_ns + sum(own_ns), 1)


def _held_up(start_ns: Int64, end_ns: Int64, workers: Sequence[ChildTimes]) -> Floats:
    """Which part of each stretch the thread waited for workers that waited for a processor.

    While they make batches, workers also sleep, as for a file: that part counts as data. The rest is divided
    by how long they waited and ran in the stretch. Where neither was seen, as one starts or ends then, it is
    divided as in the whole run.
    """
    run_ns, wait_ns = (
        sum((np.interp(end_ns, *sums) - np.interp(start_ns, *sums) for sums in each), np.zeros(len(start_ns)))
        for each in (
            [(own.time_ns, own.run_ns) for own in workers],
            [(own.time_ns, own.wait_ns) for own in workers],
        )
    )
    sums_ns = [sum(int(getattr(each, name)[-1]) for each in workers) for name in ("wait_ns", "run_ns")]
    usual = sums_ns[0] / max(sum(sums_ns), 1)
    could_run_ns = run_ns + wait_ns
    part = np.where(could_run_ns > 0, wait_ns / np.maximum(could_run_ns, 1), usual)
    worked_ns, slept_ns = (sum(getattr(each, name) for each in workers) for name in ("worked_ns", "slept_ns"))
    return np.asarray(part * (1 - slept_ns / max(worked_ns, 1)))
