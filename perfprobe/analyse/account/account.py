"""Makes the account: exact times of operators, the rest divided by samples, waiting moved out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.account.cells import Cells
from perfprobe.analyse.account.leaves import KINDS, merged, new_leaves, of_cells, rounded
from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.account.moved import Moved, moved
from perfprobe.analyse.account.waits import measured, seen
from perfprobe.analyse.account.watch import Watched
from perfprobe.analyse.account.workers import held_up_by_workers, used_by_others
from perfprobe.tables.account import Account, LeafKind, Leaves
from perfprobe.tables.columns import Int64, Rows, among
from perfprobe.tables.processors import Processors
from perfprobe.tables.steps import StepPhase, StepTimes
from perfprobe.tables.trace import Trace

_PHASES = len(StepPhase)
_MOST = 0.9  # steps with less of a wait than the rest do not count
_SLEEPS = 0.05  # of the time that was not waiting; less than that may be an error


class _Rest(NamedTuple):
    """Time of one phase that no operator explains."""

    phase: int
    time_ns: int


def account(
    trace: Trace, times: StepTimes, watched: Watched, looks: Looks | None, processors: Processors | None
) -> Account | None:
    """The account of the leading loop; None without steps."""
    if looks is None:
        return None
    whole_ns = _phase_times(times, watched)
    known = measured(trace, times, watched, looks, whole_ns)
    found, waits = [of_cells(known.operators)], [known.waits]
    for phase in np.flatnonzero(known.rest_ns > 0).tolist():
        here = looks.take((looks.phase == phase) & ~looks.in_operator)
        shown, here = seen(int(known.rest_ns[phase]), here)
        rest = _Rest(phase, int(known.rest_ns[phase]) - int(shown.time_ns.sum()))
        waits.append(shown)
        if rest.time_ns > 0:
            operators = known.operators
            found += _rest_of(rest, operators.take(operators.phase == phase), here, watched, len(looks) > 0)
    leaves = _with_steps(merged(Leaves.concat(found)), times, watched)
    taken = moved(trace, times, watched, leaves, looks)
    rows = Leaves.concat([_without_waiting(leaves, taken), merged(Leaves.concat(waits))])
    of_workers_ns = 0
    if taken is not None:
        by_others = used_by_others(processors, times.steps.take(watched.steps))
        held_ns = held_up_by_workers(rows, looks, trace.worker_times, by_others)
        of_workers_ns = int(held_ns.sum())
        rows = Leaves.concat([_less(rows, held_ns), _of_processor(taken, of_workers_ns)])
    rows = rows.take(np.argsort(-rows.time_ns, kind="stable"))
    waited_ns = None if taken is None else taken.waited_ns + of_workers_ns
    return Account(rows, len(watched.steps), int(whole_ns.sum()), waited_ns, of_workers_ns)


def _phase_times(times: StepTimes, watched: Watched) -> Int64:
    rows = times.step_phases.take(among(times.step_phases.step, watched.steps))
    found = np.zeros(_PHASES, np.int64)
    np.add.at(found, rows.phase, rows.time_ns)
    return found


def _with_steps(leaves: Leaves, times: StepTimes, watched: Watched) -> Leaves:
    """The rows, with the number of steps that have most of the time of phases that are no line's."""
    rows = times.step_phases.take(among(times.step_phases.step, watched.steps))
    steps = leaves.steps.copy()
    for phase in KINDS:
        time_ns = np.sort(rows.time_ns[rows.phase == phase])[::-1]
        enough = _MOST * int(time_ns.sum())
        steps[leaves.phase == phase] = int(np.searchsorted(np.cumsum(time_ns), enough)) + 1
    return Leaves(**leaves.columns() | {"steps": steps})


def _rest_of(rest: _Rest, operators: Cells, here: Looks, watched: Watched, sampled: bool) -> list[Leaves]:
    """The rest of a phase by line: as samples show, or with none there, of the line whose range it is."""
    ranges = watched.ranges.take((watched.ranges.phase == rest.phase) & (watched.ranges.frame >= 0))
    if not sampled or (len(here) == 0 and len(ranges) > 0):
        return [_of_ranges(rest, ranges)]
    engine = watched.engine.take(watched.engine.phase == rest.phase)
    is_elsewhere = int(engine.time_ns.sum()) > int(operators.time_ns.sum())
    return _divided(rest, engine if is_elsewhere else operators, here)


def _of_ranges(rest: _Rest, ranges: Cells) -> Leaves:
    """The rest of a phase without samples: of the line whose range it is; not explained without a range."""
    phase, time_ns = np.array([rest.phase], np.int8), np.array([rest.time_ns])
    if len(ranges) == 0:
        kind = np.array([KINDS.get(StepPhase(rest.phase), LeafKind.UNEXPLAINED)], np.int8)
        return new_leaves(phase, kind=kind, time_ns=time_ns)
    return new_leaves(phase, frame=ranges.frame[[np.argmax(ranges.time_ns)]], time_ns=time_ns)


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
    return new_leaves(
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
        return new_leaves(np.array([phase], np.int8), time_ns=np.array([time_ns], np.int64))
    share = operators.time_ns / int(operators.time_ns.sum())
    found = rounded(share * time_ns)
    found[int(np.argmax(found))] += time_ns - int(found.sum())
    return new_leaves(operators.phase, frame=operators.frame, module=operators.module, time_ns=found)


def _without_waiting(leaves: Leaves, taken: Moved | None) -> Leaves:
    """The rows without what the thread waited for a processor."""
    if taken is None:
        return leaves
    time_ns = np.maximum(leaves.time_ns, 1)
    operators_ns = rounded(leaves.operators_ns * (1 - taken.of_leaves_ns / time_ns))
    error_ns = rounded(np.hypot(leaves.error_ns, taken.error_ns))
    rows = _less(leaves, taken.of_leaves_ns)
    return Leaves(**rows.columns() | {"operators_ns": operators_ns, "error_ns": error_ns})


def _less(leaves: Leaves, waited_ns: Int64) -> Leaves:
    """The rows without so much waiting each."""
    less = {"time_ns": leaves.time_ns - waited_ns, "waited_ns": leaves.waited_ns + waited_ns}
    return Leaves(**leaves.columns() | less)


def _of_processor(taken: Moved, of_workers_ns: int) -> Leaves:
    """The row of waiting for a processor: the thread's own, and that of workers it waited for."""
    return new_leaves(
        np.array([StepPhase.OTHER], np.int8),
        kind=np.array([LeafKind.PROCESSOR], np.int8),
        time_ns=np.array([taken.waited_ns + of_workers_ns], np.int64),
        steps=np.array([taken.steps], np.int64),
    )
