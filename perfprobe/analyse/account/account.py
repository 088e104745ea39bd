"""Makes the account: exact times of operators, the rest divided by samples, waiting moved out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.cells import Cells
from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.account.moved import Moved, moved
from perfprobe.analyse.account.watch import Watched
from perfprobe.analyse.grouping import sort_by_keys
from perfprobe.tables.account import Account, LeafKind, Leaves
from perfprobe.tables.columns import Int8, Int32, Int64, Rows, among
from perfprobe.tables.steps import StepPhase, StepTimes
from perfprobe.tables.trace import Trace

_PHASES = len(StepPhase)
_KINDS = {
    StepPhase.DATA: LeafKind.DATA,
    StepPhase.COLLECTION: LeafKind.COLLECTION,
    StepPhase.COMPILE: LeafKind.COMPILE,
    StepPhase.IMPORT: LeafKind.IMPORT,
}
_MOST = 0.9  # steps with less of a wait than the rest do not count
_SLEEPS = 0.05  # of the time that was not waiting; less than that may be an error
_KEYS = ("kind", "phase", "frame", "module")


class _Rest(NamedTuple):
    """Time of one phase that no operator explains."""

    phase: int
    time_ns: int


def account(trace: Trace, times: StepTimes, watched: Watched, looks: Looks | None) -> Account | None:
    """The account of the leading loop; None without steps."""
    if looks is None:
        return None
    whole_ns = _phase_times(times, watched)
    operators = _within(watched.cells, whole_ns)
    found = [_of_cells(operators)]
    for phase in np.flatnonzero(whole_ns).tolist():
        of_phase = operators.take(operators.phase == phase)
        rest = _Rest(phase, int(whole_ns[phase]) - int(of_phase.time_ns.sum()))
        if rest.time_ns > 0:
            found += _rest_of(rest, of_phase, looks, watched)
    leaves = _with_steps(_merged(Leaves.concat(found)), times, watched)
    steps = times.steps.take(watched.steps)
    taken = moved(trace, int(times.loops.thread[0]), steps, leaves, looks, watched.stood)
    rows = _with_waiting(leaves, taken)
    rows = rows.take(np.argsort(-rows.time_ns, kind="stable"))
    return Account(rows, len(watched.steps), int(whole_ns.sum()), None if taken is None else taken.waited_ns)


def _phase_times(times: StepTimes, watched: Watched) -> Int64:
    rows = times.step_phases.take(among(times.step_phases.step, watched.steps))
    found = np.zeros(_PHASES, np.int64)
    np.add.at(found, rows.phase, rows.time_ns)
    return found


def _with_steps(leaves: Leaves, times: StepTimes, watched: Watched) -> Leaves:
    """The rows, with the number of steps that have most of the time of phases that are no line's."""
    rows = times.step_phases.take(among(times.step_phases.step, watched.steps))
    steps = leaves.steps.copy()
    for phase in _KINDS:
        time_ns = np.sort(rows.time_ns[rows.phase == phase])[::-1]
        enough = _MOST * int(time_ns.sum())
        steps[leaves.phase == phase] = int(np.searchsorted(np.cumsum(time_ns), enough)) + 1
    return Leaves(**leaves.columns() | {"steps": steps})


def _within(cells: Cells, whole_ns: Int64) -> Cells:
    """The cells, made smaller where they are more than their phase: very short phases are joined there."""
    sums_ns = np.zeros(_PHASES, np.int64)
    np.add.at(sums_ns, cells.phase, cells.time_ns)
    factor = np.minimum(whole_ns / np.maximum(sums_ns, 1), 1)[cells.phase]
    return Cells(**cells.columns() | {"time_ns": (np.maximum(cells.time_ns, 0) * factor).astype(np.int64)})


def _leaves(phase: Int8, *, kind: Int8 | None = None, **given: Int64 | Int32) -> Leaves:
    """Rows with these columns; others are 0, and ids and numbers of steps -1."""
    none = {
        name: np.full(len(phase), -1 if name in ("frame", "module", "steps") else 0, dtype)
        for name, dtype in Leaves.dtypes.items()
    }
    kinds = np.array([_KINDS.get(StepPhase(each), LeafKind.LINE) for each in phase.tolist()], np.int8)
    known = {"phase": phase.astype(np.int8), "kind": kinds if kind is None else kind, **given}
    return Leaves(**{name: np.asarray(value, Leaves.dtypes[name]) for name, value in (none | known).items()})


def _of_cells(cells: Cells) -> Leaves:
    return _leaves(
        cells.phase,
        frame=cells.frame,
        module=cells.module,
        time_ns=cells.time_ns,
        operators_ns=cells.time_ns,
        steps=cells.steps,
    )


def _rest_of(rest: _Rest, operators: Cells, looks: Looks, watched: Watched) -> list[Leaves]:
    """The rest of a phase by line: as samples show, or with none there, of the line whose range it is."""
    here = looks.take((looks.phase == rest.phase) & ~looks.in_operator)
    ranges = watched.ranges.take((watched.ranges.phase == rest.phase) & (watched.ranges.frame >= 0))
    if len(looks) == 0 or (len(here) == 0 and len(ranges) > 0):
        return [_of_ranges(rest, ranges)]
    engine = watched.engine.take(watched.engine.phase == rest.phase)
    is_elsewhere = int(engine.time_ns.sum()) > int(operators.time_ns.sum())
    return _divided(rest, engine if is_elsewhere else operators, here)


def _of_ranges(rest: _Rest, ranges: Cells) -> Leaves:
    """The rest of a phase without samples: of the line whose range it is; not explained without a range."""
    phase, time_ns = np.array([rest.phase], np.int8), np.array([rest.time_ns])
    if len(ranges) == 0:
        kind = np.array([_KINDS.get(StepPhase(rest.phase), LeafKind.UNEXPLAINED)], np.int8)
        return _leaves(phase, kind=kind, time_ns=time_ns)
    return _leaves(phase, frame=ranges.frame[[np.argmax(ranges.time_ns)]], time_ns=time_ns)


def _divided(rest: _Rest, operators: Cells, here: Looks) -> list[Leaves]:
    """The rest of a phase by line, in proportion to its samples between operators.

    Samples without a line are autograd's engine, or Python of torch around operators: their time is that of
    the operators' lines, on autograd's threads if most of them ran there. So is time without a sample.
    """
    placed = _of_lines(rest, here)
    left_ns = rest.time_ns - int(placed.time_ns.sum())
    return [placed, _beside(rest.phase, left_ns, operators)] if left_ns else [placed]


def _of_lines(rest: _Rest, looks: Looks) -> Leaves:
    """The part of each line that samples show.

    The error is that of a share of n samples. Samples that stand for unequal times count as fewer: Kish,
    Survey Sampling (1965).
    """
    frames, row = np.unique(looks.frame, return_inverse=True)
    wait_ns = min(int(looks.wait_ns.sum()), rest.time_ns)
    own = _own(rest.time_ns - wait_ns, looks, row)
    share = own / max(own.sum(), 1)
    weights = looks.time_ns.astype(np.float64)
    deviation = np.sqrt(share * np.maximum(1 - share, 0) * (weights**2).sum()) / weights.sum()
    waits = np.bincount(row, looks.wait_ns) / max(int(looks.wait_ns.sum()), 1)
    placed = frames >= 0
    return _leaves(
        np.full(int(placed.sum()), rest.phase, np.int8),
        frame=frames[placed],
        time_ns=rounded(share * (rest.time_ns - wait_ns) + waits * wait_ns)[placed],
        error_ns=rounded(2 * deviation * (rest.time_ns - wait_ns))[placed],
    )


def _own(own_ns: int, looks: Looks, row: Rows) -> npt.NDArray[np.float64]:
    """The time of each line without waiting for a processor, of so much.

    What is more than the CPU time was sleep. It is that of the lines where samples saw the thread for longer
    than it ran and waited there. row: of each sample the line.
    """
    ran, waited, seen = (np.bincount(row, each) for each in (looks.own_ns, looks.wait_ns, looks.time_ns))
    slept_ns, still = own_ns - float(ran.sum()), np.maximum(seen - ran - waited, 0)
    if slept_ns < _SLEEPS * own_ns or not still.any():
        return np.asarray(ran if ran.any() else seen, np.float64)
    return np.asarray(ran + slept_ns * still / still.sum(), np.float64)


def _beside(phase: int, time_ns: int, operators: Cells) -> Leaves:
    """Time beside operators, in proportion to these; a row without a line if there are none."""
    if len(operators) == 0 or int(operators.time_ns.sum()) == 0:
        return _leaves(np.array([phase], np.int8), time_ns=np.array([time_ns], np.int64))
    share = operators.time_ns / int(operators.time_ns.sum())
    found = rounded(share * time_ns)
    found[int(np.argmax(found))] += time_ns - int(found.sum())
    return _leaves(operators.phase, frame=operators.frame, module=operators.module, time_ns=found)


def rounded(values: np.typing.NDArray[np.float64]) -> Int64:
    """Whole numbers."""
    return np.rint(values).astype(np.int64)


def _merged(rows: Leaves) -> Leaves:
    """Adds up rows of the same kind, phase, line and module."""
    if len(rows) == 0:
        return rows
    order, first = sort_by_keys([getattr(rows, name) for name in _KEYS])
    ordered = rows.take(order)
    sums = {
        name: np.add.reduceat(getattr(ordered, name), first)
        for name in ("time_ns", "operators_ns", "waited_ns", "error_ns")
    }
    keys = {name: getattr(ordered, name)[first] for name in _KEYS}
    return Leaves(**keys, **sums, steps=np.maximum.reduceat(ordered.steps, first))


def _with_waiting(leaves: Leaves, taken: Moved | None) -> Leaves:
    """The rows without waiting for a processor, which becomes a row."""
    if taken is None:
        return leaves
    time_ns = np.maximum(leaves.time_ns, 1)
    operators_ns = rounded(leaves.operators_ns * (1 - taken.of_leaves_ns / time_ns))
    rows = Leaves(
        **leaves.columns()
        | {
            "time_ns": leaves.time_ns - taken.of_leaves_ns,
            "operators_ns": operators_ns,
            "waited_ns": taken.of_leaves_ns,
            "error_ns": rounded(np.hypot(leaves.error_ns, taken.error_ns)),
        }
    )
    own = _leaves(
        np.array([StepPhase.OTHER], np.int8),
        kind=np.array([LeafKind.PROCESSOR], np.int8),
        time_ns=np.array([taken.waited_ns], np.int64),
        steps=np.array([taken.steps], np.int64),
    )
    return Leaves.concat([rows, own])
