"""The leaves of waiting for other ranks, for Python's lock and for a GPU, and what they leave.

Waits for a GPU are measured, and so are calls of collectives. The others are seen by samples: a thread that
does not run while a collective runs, or that the kernel finds in the wait for the lock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perfprobe.analyse.account.blocked import is_apart
from perfprobe.analyse.account.cells import Cells
from perfprobe.analyse.account.cells import merged as cells_of_waits
from perfprobe.analyse.account.leaves import merged, new_leaves, of_cells, rounded
from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.account.watch import Watched, events, same_line
from perfprobe.tables.account import LeafKind, Leaves
from perfprobe.tables.columns import Int8, Int64, distinct
from perfprobe.tables.intervals import around, overlaps
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import EventKind, StepPhase, StepTimes
from perfprobe.tables.trace import Phase, Trace

_PHASES = {
    Phase.FORWARD: StepPhase.FORWARD,
    Phase.BACKWARD: StepPhase.BACKWARD,
    Phase.RECOMPUTE: StepPhase.RECOMPUTE,
    Phase.COMPILE: StepPhase.COMPILE,
    Phase.DATA: StepPhase.DATA,
}
_RANGES = {EventKind.OPTIMIZER: StepPhase.OPTIMIZER, EventKind.NEXT: StepPhase.DATA}


class Measured(NamedTuple):
    """Operators without waits, the waits, and of each phase the time that neither explains."""

    operators: Cells
    waits: Leaves
    rest_ns: Int64


def measured(trace: Trace, times: StepTimes, watched: Watched, looks: Looks, whole_ns: Int64) -> Measured:
    """What was measured in the steps. whole_ns: of each phase."""
    cells, gpu, ranks = _fitting((watched.cells, watched.gpu, watched.ranks), whole_ns)
    locked, cells = _locked(cells, looks)
    waits = Leaves.concat([of_cells(ranks, LeafKind.RANKS), of_cells(gpu, LeafKind.GPU), locked])
    rest_ns = whole_ns - _by_phase(cells.phase, cells.time_ns, len(whole_ns))
    rest_ns -= _by_phase(waits.phase, waits.time_ns, len(whole_ns))
    between = _within_rest(_between(trace, times, watched, looks), rest_ns)
    rest_ns -= _by_phase(between.phase, between.time_ns, len(whole_ns))
    return Measured(cells, merged(Leaves.concat([waits, between])), rest_ns)


def seen(rest_ns: int, here: Looks) -> tuple[Leaves, Looks]:
    """The waits that samples between operators of a phase show, and the samples without waiting.

    rest_ns: the time of the phase that was not measured. The waits are not more than that.
    """
    found = (_of_looks(LeafKind.RANKS, here, here.ranks_ns), _of_looks(LeafKind.LOCK, here, here.lock_ns))
    waits = Leaves.concat(found)
    part = min(rest_ns / max(int(waits.time_ns.sum()), 1), 1)
    shrunk = {name: (getattr(waits, name) * part).astype(np.int64) for name in ("time_ns", "error_ns")}
    blocked_ns = here.ranks_ns + here.lock_ns + here.gpu_ns
    left = Looks(**here.columns() | {"time_ns": here.time_ns - blocked_ns})
    return Leaves(**waits.columns() | shrunk), left.take((blocked_ns == 0) | (left.time_ns > 0))


def _fitting(parts: tuple[Cells, ...], whole_ns: Int64) -> tuple[Cells, ...]:
    """The cells, made smaller where they are more than their phase: very short phases are joined there."""
    cells = Cells.concat(parts)
    sums_ns = _by_phase(cells.phase, cells.time_ns, len(whole_ns))
    factor = np.minimum(whole_ns / np.maximum(sums_ns, 1), 1)
    return tuple(
        Cells(
            **each.columns()
            | {"time_ns": (np.maximum(each.time_ns, 0) * factor[each.phase]).astype(np.int64)}
        )
        for each in parts
    )


def _locked(cells: Cells, looks: Looks) -> tuple[Leaves, Cells]:
    """Waiting for the lock inside of operators, as Functions written in Python do; and the cells without it.

    It is the part of the samples there.
    """
    looks = looks.take(looks.in_operator)
    if not bool((looks.lock_ns > 0).any()):
        return Leaves.empty(), cells
    seen_ns: dict[tuple[int, int], tuple[int, int]] = {}
    rows = (looks.phase.tolist(), looks.frame.tolist(), looks.time_ns.tolist(), looks.lock_ns.tolist())
    for phase, frame, time_ns, lock_ns in zip(*rows, strict=True):
        before = seen_ns.get((phase, frame), (0, 0))
        seen_ns[phase, frame] = before[0] + time_ns, before[1] + lock_ns
    keys = zip(cells.phase.tolist(), cells.frame.tolist(), strict=True)
    pairs = np.array([seen_ns.get(key, (1, 0)) for key in keys], np.int64).reshape(-1, 2)
    lock_ns = (cells.time_ns * np.minimum(pairs[:, 1] / np.maximum(pairs[:, 0], 1), 1)).astype(np.int64)
    locked = Cells(**cells.columns() | {"time_ns": lock_ns})
    found = of_cells(locked.take(lock_ns > 0), LeafKind.LOCK)
    return found, Cells(**cells.columns() | {"time_ns": cells.time_ns - lock_ns})


def _of_looks(kind: LeafKind, here: Looks, wait_ns: Int64) -> Leaves:
    """A leaf for each line where samples saw such a wait.

    Each sample tells where it began and ended to about the time between two looks.
    """
    here, wait_ns = here.take(wait_ns > 0), wait_ns[wait_ns > 0]
    lines, row = np.unique(here.called, return_inverse=True)
    time_ns = np.asarray(np.bincount(row, wait_ns, len(lines)), np.float64)
    error_ns = np.sqrt(np.bincount(row, (wait_ns / np.maximum(here.looks, 1)) ** 2, len(lines)))
    return new_leaves(
        here.phase[:1].repeat(len(lines)),
        kind=np.full(len(lines), kind, np.int8),
        frame=lines.astype(np.int32),
        time_ns=rounded(time_ns),
        error_ns=rounded(error_ns),
        steps=np.array([len(distinct(here.step[row == each])) for each in range(len(lines))], np.int64),
    )


def _between(trace: Trace, times: StepTimes, watched: Watched, looks: Looks) -> Leaves:
    """Waits for a GPU between operators, with the phase of a range around them, or that a sample shows.

    Without a sample the phase is that of the call.
    """
    steps, waits = times.steps.take(watched.steps), watched.waits
    number, row, time_ns = overlaps(steps.start_ns, steps.end_ns, waits.start_ns, waits.end_ns)
    waits = waits.take(row)
    order = np.argsort(looks.start_ns, kind="stable")
    at = around(looks.start_ns[order], looks.end_ns[order], waits.start_ns)
    called = np.array([_PHASES.get(Phase(each), StepPhase.OTHER) for each in waits.phase.tolist()], np.int8)
    phase = np.where(at >= 0, np.append(looks.phase[order], np.int8(-1))[at], called).astype(np.int8)
    for kind, own in _RANGES.items():
        phase[around(*events(times, kind), waits.start_ns) >= 0] = own
    kept = ~is_apart(phase) & (time_ns > 0)
    frame, ones = same_line(trace.recording[Frames])[waits.frame], np.ones(len(kept), np.int64)
    module, number = np.full(len(kept), -1, np.int32), number.astype(np.int64)
    cells = Cells(phase, frame, module, time_ns, ones, number, number)
    return of_cells(cells_of_waits(cells.take(kept)), LeafKind.GPU)


def _within_rest(waits: Leaves, rest_ns: Int64) -> Leaves:
    """The waits, none more than is left of its phase: what does not fit is in the phase with most left."""
    left_ns, found = np.where(is_apart(np.arange(len(rest_ns), dtype=np.int8)), 0, rest_ns), []
    for at, phase in enumerate(waits.phase.tolist()):
        open_ns = int(waits.time_ns[at])
        for each in (phase, int(left_ns.argmax())):
            taken_ns = min(open_ns, int(left_ns[each]))
            found.append((at, each, taken_ns))
            left_ns[each] -= taken_ns
            open_ns -= taken_ns
    row, phases, times_ns = np.array([each for each in found if each[2] > 0], np.int64).reshape(-1, 3).T
    known = waits.take(row)
    kept = {name: getattr(known, name) for name in ("kind", "frame", "module", "steps")}
    return new_leaves(phases.astype(np.int8), time_ns=times_ns, **kept)


def _by_phase(phase: Int8, time_ns: Int64, phases: int) -> Int64:
    found = np.zeros(phases, np.int64)
    np.add.at(found, phase, time_ns)
    return found
