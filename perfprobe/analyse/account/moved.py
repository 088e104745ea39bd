"""Moves waiting for a processor out of the parts in which the thread stood still.

The scheduler says how long the thread waited in all steps together, and its own readings where (`stood`).
Where there are none, samples say how much it ran. A thread that runs is stopped in proportion to how much it
runs; one that waits for something else is not. So where they show that the thread ran much of the time it
could have run, all time without CPU time is waiting for a processor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.account.stood import Waits
from perfprobe.analyse.account.stopped import stopped
from perfprobe.analyse.account.watch import Watched
from perfprobe.models.waiting import RUNNING, waited_within_ns
from perfprobe.support.frozen import frozen
from perfprobe.tables.account import Leaves
from perfprobe.tables.columns import Int64, Mask, among, distinct
from perfprobe.tables.steps import StepPhase, StepTimes
from perfprobe.tables.trace import Trace

Floats = npt.NDArray[np.float64]
_KEYS = ("phase", "frame", "module")
_BUSY = 0.2  # of the steps: with less waiting, time without running is the program's own
_MISPLACED = 0.01  # of the waiting, beside 16 busy processes: python -m benchmarks.account


@frozen
class Moved:
    """Waiting in all steps, the part of each row, two standard deviations of that, and steps with any."""

    waited_ns: int
    of_leaves_ns: Int64
    error_ns: Floats
    steps: int


class _Seen(NamedTuple):
    """How long the thread stood still in each row. sampled_ns: the part that looks divide; None: no looks."""

    stood_ns: Floats
    sampled_ns: Floats
    looks: int | None


def moved(trace: Trace, times: StepTimes, watched: Watched, leaves: Leaves, looks: Looks) -> Moved | None:
    """How long the thread waited for a processor, by row; None if the scheduler was not read."""
    thread, steps, stood = int(times.loops.thread[0]), times.steps.take(watched.steps), watched.stood
    waited_ns = waited_within_ns(trace.recording, thread, steps.start_ns, steps.end_ns)
    whole_ns = int(leaves.time_ns.sum())
    if waited_ns is None or whole_ns <= 0:
        return None
    waited_ns, of_phases_ns = min(waited_ns, whole_ns), _by_phase(times, watched)
    if of_phases_ns is not None and waited_ns >= _BUSY * whole_ns:
        stopped_ns = stopped(trace.recording, times, watched)
        waited_ns, of_phases_ns = min(waited_ns + int(stopped_ns.sum()), whole_ns), of_phases_ns + stopped_ns
    if stood.is_known:
        seen = _told(leaves, looks, stood.waits, waited_ns, of_phases_ns)
    else:
        seen = _ran(leaves, looks, waited_ns)
    taken = _taken(seen.stood_ns, leaves.time_ns.astype(np.float64), waited_ns)
    of_leaves_ns = np.floor(taken).astype(np.int64)
    left_ns = waited_ns - int(of_leaves_ns.sum())
    if left_ns > 0 and len(leaves):
        room = np.argsort(of_leaves_ns - leaves.time_ns, kind="stable")[:1]
        of_leaves_ns[room] += left_ns
    return Moved(waited_ns, of_leaves_ns, _errors(seen, of_leaves_ns), len(steps))


def _errors(seen: _Seen, of_leaves_ns: Int64) -> Floats:
    """Two standard deviations of the waiting of each row.

    Where samples divide it: that of a share of so many. Where the thread read when it waited, rows of one
    phase have the same errors as their own time, which has them already.
    """
    if seen.looks is None:
        return np.asarray(_MISPLACED * of_leaves_ns, np.float64)
    share = seen.sampled_ns / max(float(seen.stood_ns.sum()), 1)
    deviation = np.sqrt(share * np.maximum(1 - share, 0) / max(seen.looks, 1))
    return np.asarray(2 * deviation * int(of_leaves_ns.sum()), np.float64)


def _by_phase(times: StepTimes, watched: Watched) -> Int64 | None:
    """How long the thread waited in each phase, by its own readings; None without any."""
    rows = times.step_phases
    rows = rows.take(among(rows.step, watched.steps) & (rows.waited_ns >= 0))
    if len(rows) == 0:
        return None
    return np.bincount(rows.phase, rows.waited_ns, len(StepPhase)).astype(np.int64)


def _told(leaves: Leaves, looks: Looks, waits: Waits, waited_ns: int, of_phases_ns: Int64 | None) -> _Seen:
    """By what the thread read: in operators, in ranges of the same phase, and between them by line."""
    cell, cells = _cells(leaves, looks), len(leaves)
    between_ns = np.bincount(cell[cell >= 0], looks.wait_ns[cell >= 0], cells).astype(np.float64)
    operators = waits.take(~waits.is_range)
    at = _cells(leaves, operators)
    inside_ns = np.bincount(at[at >= 0], operators.time_ns[at >= 0], cells).astype(np.float64)
    ranges = waits.take(waits.is_range)
    rest_ns, outside_ns = leaves.time_ns - leaves.operators_ns, between_ns.copy()
    for phase in distinct(ranges.phase).tolist():
        of_phase = rest_ns * (leaves.phase == phase)
        outside_ns += of_phase * (ranges.time_ns[ranges.phase == phase].sum() / max(int(of_phase.sum()), 1))
    if of_phases_ns is not None:
        left_ns = of_phases_ns - np.bincount(leaves.phase, inside_ns, len(StepPhase))
        outside_ns = _as_read(leaves, outside_ns, np.maximum(left_ns, 0))
    found = _in_phases(leaves, inside_ns + outside_ns)
    unseen = np.bincount(cell[cell >= 0], minlength=cells) + np.bincount(at[at >= 0], minlength=cells) == 0
    found += _spread_unseen(leaves, unseen, max(waited_ns - float(found.sum()), 0))
    return _Seen(found, between_ns, int((looks.wait_ns > 0).sum()) if of_phases_ns is None else None)


def _as_read(leaves: Leaves, found: Floats, of_phases_ns: Floats) -> Floats:
    """These waits outside of operators, made to sum to those of each phase.

    A wait between two operators may have no sample of its own: then that of another phase has it.
    """
    rest_ns = np.maximum(leaves.time_ns - leaves.operators_ns, 0).astype(np.float64)
    sums_ns, rests_ns = (np.bincount(leaves.phase, each, len(StepPhase)) for each in (found, rest_ns))
    weight = np.where((sums_ns > 0)[leaves.phase], found, rest_ns)
    whole_ns = np.where(sums_ns > 0, sums_ns, rests_ns)
    return np.asarray(weight * (of_phases_ns / np.maximum(whole_ns, 1))[leaves.phase], np.float64)


def _in_phases(leaves: Leaves, found: Floats) -> Floats:
    """These waits, none longer than its row: what is too long is that of the other rows of its phase.

    Autograd's engine itself has few samples, whose waits are those around its operators.
    """
    over = np.maximum(found - leaves.time_ns, 0)
    room = np.maximum(leaves.time_ns - found, 0)
    over_ns, room_ns = (np.bincount(leaves.phase, each, len(StepPhase)) for each in (over, room))
    part = np.minimum(over_ns / np.maximum(room_ns, 1), 1)[leaves.phase]
    return np.asarray(found - over + room * part, np.float64)


def _ran(leaves: Leaves, looks: Looks, waited_ns: int) -> _Seen:
    """By how much the thread ran."""
    looks = looks.take(looks.cpu_ns >= 0)
    cell, cells = _cells(leaves, looks), len(leaves)
    known = cell >= 0
    time_ns = np.bincount(cell[known], looks.time_ns[known], cells)
    cpu_ns = np.bincount(cell[known], looks.cpu_ns[known], cells)
    ran = cpu_ns >= RUNNING * (1 - waited_ns / int(leaves.time_ns.sum())) * time_ns
    part = np.where(ran, np.maximum(time_ns - cpu_ns, 0), 0) / np.maximum(time_ns, 1)
    found = part * leaves.time_ns
    found += _spread_unseen(leaves, time_ns == 0, max(waited_ns - float(found.sum()), 0))
    return _Seen(found, found, int(np.count_nonzero(looks.cpu_ns < 0.5 * looks.time_ns)))


def _spread_unseen(leaves: Leaves, unseen: Mask, left_ns: float) -> Floats:
    """What is left of the waiting, in proportion to the rows in which no sample was."""
    time_ns = np.where(unseen, leaves.time_ns, 0)
    return np.asarray(left_ns * time_ns / max(int(time_ns.sum()), 1), np.float64)


def _cells(leaves: Leaves, looks: Looks | Waits) -> npt.NDArray[np.intp]:
    """The row of each of these: with its phase, line and module; else with its phase and line; -1 none."""
    full = {key: at for at, key in enumerate(zip(*(getattr(leaves, c).tolist() for c in _KEYS), strict=True))}
    short = {key[:2]: at for key, at in full.items()}
    keys = zip(*(getattr(looks, name).tolist() for name in _KEYS), strict=True)
    return np.array([full.get(key, short.get(key[:2], -1)) for key in keys], np.intp)


def _taken(stood_ns: Floats, time_ns: Floats, waited_ns: int) -> Floats:
    """These waits, made to sum to that of the scheduler: they are changed if they are the smaller part."""
    own_ns = float(time_ns.sum()) - waited_ns
    if waited_ns <= own_ns:
        return _bounded(stood_ns, time_ns, waited_ns)
    return time_ns - _bounded(np.maximum(time_ns - stood_ns, 0), time_ns, own_ns)


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
