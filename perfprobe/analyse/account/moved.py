"""Moves waiting for a processor out of the parts in which samples saw the thread stand still.

The scheduler says how long the thread waited in all steps together, and samples where. Those of old
recordings say only how much it ran. A thread that runs is stopped in proportion to how much it runs; one that
waits for something else is not. So where they show that the thread ran much of the time it could have run,
all time without CPU time is waiting for a processor.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.looks import Looks
from perfprobe.models.waiting import RUNNING, waited_within_ns
from perfprobe.support.frozen import frozen
from perfprobe.tables.account import Leaves
from perfprobe.tables.columns import Int64
from perfprobe.tables.steps import Steps
from perfprobe.tables.trace import Trace

Floats = npt.NDArray[np.float64]


@frozen
class Moved:
    """Waiting in all steps, the part of each row, two standard deviations of that, and steps with any."""

    waited_ns: int
    of_leaves_ns: Int64
    error_ns: Floats
    steps: int


def moved(trace: Trace, thread: int, steps: Steps, leaves: Leaves, looks: Looks) -> Moved | None:
    """How long the thread waited for a processor, by row; None if the scheduler was not read.

    thread: its row of `threads`.
    """
    waited_ns = waited_within_ns(trace.recording, thread, steps.start_ns, steps.end_ns)
    whole_ns = int(leaves.time_ns.sum())
    if waited_ns is None or whole_ns <= 0:
        return None
    waited_ns = min(waited_ns, whole_ns)
    stood_ns, seen = _stood(leaves, looks, waited_ns)
    taken = _bounded(stood_ns, leaves.time_ns.astype(np.float64), waited_ns)
    of_leaves_ns = np.floor(taken).astype(np.int64)
    left_ns = waited_ns - int(of_leaves_ns.sum())
    if left_ns > 0 and len(leaves):
        room = np.argsort(of_leaves_ns - leaves.time_ns, kind="stable")[:1]
        of_leaves_ns[room] += left_ns
    share = of_leaves_ns / max(waited_ns, 1)
    error_ns = 2 * np.sqrt(share * (1 - share) / max(seen, 1)) * waited_ns
    return Moved(waited_ns, of_leaves_ns, error_ns, len(steps))


def _stood(leaves: Leaves, looks: Looks, waited_ns: int) -> tuple[Floats, int]:
    """How long the thread stood still in each row for lack of a processor; in how many samples it did.

    Rows without samples share what the others leave of the waiting.
    """
    is_told = bool((looks.wait_ns >= 0).any())
    looks = looks.take(looks.wait_ns >= 0 if is_told else looks.cpu_ns >= 0)
    cell = _cells(leaves, looks)
    known, cells = cell >= 0, len(leaves)
    time_ns = np.bincount(cell[known], looks.time_ns[known], cells)
    if is_told:
        found = np.bincount(cell[known], looks.wait_ns[known], cells).astype(np.float64)
    else:
        cpu_ns = np.bincount(cell[known], looks.cpu_ns[known], cells)
        ran = cpu_ns >= RUNNING * (1 - waited_ns / int(leaves.time_ns.sum())) * time_ns
        part = np.where(ran, np.maximum(time_ns - cpu_ns, 0), 0) / np.maximum(time_ns, 1)
        found = part * leaves.time_ns
    unseen = time_ns == 0
    left_ns = max(waited_ns - float(found.sum()), 0)
    found[unseen] = left_ns * leaves.time_ns[unseen] / max(int(leaves.time_ns[unseen].sum()), 1)
    return found, int(np.count_nonzero(looks.cpu_ns < 0.5 * looks.time_ns))


def _cells(leaves: Leaves, looks: Looks) -> npt.NDArray[np.intp]:
    """The row of each sample: with its phase, line and module; else with its phase and line; -1 none."""
    columns = ("phase", "frame", "module")
    full = {
        key: at for at, key in enumerate(zip(*(getattr(leaves, c).tolist() for c in columns), strict=True))
    }
    short = {key[:2]: at for key, at in full.items()}
    keys = zip(*(getattr(looks, name).tolist() for name in columns), strict=True)
    return np.array([full.get(key, short.get(key[:2], -1)) for key in keys], np.intp)


def _bounded(wished: Floats, most: Floats, whole: float) -> Floats:
    """Amounts in proportion to these wishes that sum to `whole`, none larger than allowed."""
    found, open_ = np.zeros(len(most)), np.ones(len(most), np.bool_)
    for _ in range(len(most)):
        left, sum_ = whole - float(found[~open_].sum()), float(wished[open_].sum())
        if sum_ <= 0:
            return _spread(found, most, left) if left > 0 else found
        found[open_] = wished[open_] * (left / sum_)
        over = open_ & (found > most)
        if not bool(over.any()):
            return found
        found[over], open_ = most[over], open_ & ~over
    return found


def _spread(found: Floats, most: Floats, left: float) -> Floats:
    """Adds an amount in proportion to what is still allowed."""
    room = most - found
    return found + room * min(left / max(float(room.sum()), 1), 1)
