"""Time by stack in the steps of the leading loop that count: the account, with stacks in place of lines.

Operators have the times that reports have: as measured, without waiting for a processor. What they leave of
each line's time in the account is divided by samples between operators at that line. Samples without a line
are autograd's engine, or Python of torch around operators: as in the account, their time is that of the
operators' lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfprobe.analyse.account.kept import undisturbed
from perfprobe.analyse.account.looks import Looks
from perfprobe.analyse.account.watch import same_line
from perfprobe.analyse.spent.rows import between, divided, of_operators, one_thread
from perfprobe.analyse.step_rows import StepSites
from perfprobe.tables.account import Account, LeafKind
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table, among, distinct
from perfprobe.tables.python import Look, OperatorSites
from perfprobe.tables.spent import ApartKind, ApartTimes, LoopSpent, SpentTime
from perfprobe.tables.stacks import Frames
from perfprobe.tables.steps import StepKind, StepPhase, StepTimes
from perfprobe.tables.trace import Phase, Trace


class _Candidates(Table):
    """Where time between operators may have passed. weight: compared with other candidates of the line."""

    line: Int32
    stack: Int32
    hanging: Int32
    look: Int8
    weight: Int64


def loop_spent(
    trace: Trace, times: StepTimes, looks: Looks | None, account: Account | None, found: StepSites
) -> LoopSpent | None:
    """The own time of the steps; None without steps."""
    if looks is None or account is None or account.own_ns <= 0:
        return None
    sites, threads = found.sites, one_thread(trace.recording.os_threads())
    line = same_line(trace.recording[Frames])
    time_ns = np.maximum(undisturbed(trace, account, sites.frame, sites.self_ns), 0)
    inside = within(sites, threads, int(times.loops.thread[0]), time_ns)
    in_lines_ns = np.bincount(line[sites.frame[inside]] + 1, time_ns[inside], len(line)).astype(np.int64)
    rest_ns, unplaced_ns = _rest(account, in_lines_ns)
    candidates = _candidates(trace, looks, sites.take(inside), line)
    rows = SpentTime.concat(
        [
            of_operators(sites, time_ns, threads),
            *_between(rest_ns, unplaced_ns, candidates, threads[times.loops.thread[0]]),
        ]
    )
    beside_ns = int(time_ns[~inside].sum())
    return LoopSpent(rows, account.own_ns, 0, account.steps, apart(times, account, beside_ns))


def within(sites: OperatorSites, threads: Int32, thread: int, time_ns: Int64 | None = None) -> Mask:
    """Returns which operators take time of the loop's thread: its own, and backward for which it waits.

    threads: as `one_thread`. time_ns: of each, None for `self_ns`.
    """
    time_ns = sites.self_ns if time_ns is None else time_ns
    own = threads[sites.thread] == threads[thread]
    is_backward = sites.phase == Phase.BACKWARD
    waits = int(time_ns[is_backward & ~own].sum()) > int(time_ns[is_backward & own].sum())
    return np.asarray(own | (is_backward & waits))


def _rest(account: Account, operators_ns: Int64) -> tuple[Int64, dict[int, int]]:
    """What operators leave of the time of each line; and of time without a line, by `LeafKind`.

    The first entry is for no line. Together with operators it is the steps' own time. Garbage collections in
    operators are in the times of both: there they are left out.
    """
    leaves = account.leaves
    leaves = leaves.take(leaves.kind != LeafKind.PROCESSOR)
    size = len(operators_ns)
    collected = leaves.kind == LeafKind.COLLECTION
    by_line = np.bincount(leaves.frame + 1, leaves.time_ns, size).astype(np.int64)
    rest_ns = np.maximum(by_line - operators_ns, 0)
    collected_ns = np.bincount(leaves.frame[collected] + 1, leaves.time_ns[collected], size).astype(np.int64)
    left_ns = max(account.own_ns - int(operators_ns.sum()), 0)
    surplus_ns = int(rest_ns.sum()) - left_ns
    twice_ns = np.minimum(collected_ns, rest_ns)
    rest_ns = rest_ns - (twice_ns * min(surplus_ns / max(int(twice_ns.sum()), 1), 1)).astype(np.int64)
    rest_ns = np.rint(rest_ns * (left_ns / max(int(rest_ns.sum()), 1))).astype(np.int64)
    if len(rest_ns):
        rest_ns[np.argmax(rest_ns)] += left_ns - int(rest_ns.sum())
    without = leaves.take((leaves.frame < 0) & (leaves.kind != LeafKind.LINE))
    unplaced_ns = {}
    for kind in distinct(without.kind).tolist():
        unplaced_ns[kind] = min(int(without.time_ns[without.kind == kind].sum()), int(rest_ns[0]))
        rest_ns[0] -= unplaced_ns[kind]
    return rest_ns, unplaced_ns


def _candidates(trace: Trace, looks: Looks, sites: OperatorSites, line: Int32) -> list[_Candidates]:
    """Where time between operators may have passed. Lines without any of the first have the next ones."""
    looks = looks.take(~looks.in_operator)
    placed, others = looks.take(looks.frame >= 0), looks.take(looks.frame < 0)
    called = _of_operators(sites, line)
    first = _Candidates.concat([_of_looks(placed), replace(called, weight=_around(others, sites))])
    return [first, called, _of_looks(others), _of_lines(trace, line)]


def _of_looks(looks: Looks) -> _Candidates:
    return _Candidates(looks.frame, looks.stack, looks.stack, looks.look, looks.time_ns)


def _of_operators(sites: OperatorSites, line: Int32) -> _Candidates:
    read = np.full(len(sites), Look.READ, np.int8)
    return _Candidates(line[sites.frame], sites.own_stack, sites.stack, read, np.maximum(sites.self_ns, 0))


def _around(looks: Looks, sites: OperatorSites) -> Int64:
    """The time of samples without a line, by operator: those in backward, and all others."""
    found = np.zeros(len(sites), np.int64)
    for of_sites, of_looks in (
        (sites.phase == Phase.BACKWARD, looks.phase == StepPhase.BACKWARD),
        (sites.phase != Phase.BACKWARD, looks.phase != StepPhase.BACKWARD),
    ):
        self_ns = np.maximum(sites.self_ns[of_sites], 0)
        share = self_ns / max(int(self_ns.sum()), 1)
        found[of_sites] = np.rint(int(looks.time_ns[of_looks].sum()) * share)
    return found


def _of_lines(trace: Trace, line: Int32) -> _Candidates:
    """The first stack of each line: where neither samples nor operators are, such as in a range."""
    frames, stack = np.unique(line[trace.sites.frame], return_index=True)
    first = stack.astype(np.int32)[frames >= 0]
    read = np.full(len(first), Look.READ, np.int8)
    return _Candidates(frames[frames >= 0], first, first, read, np.ones(len(first), np.int64))


def _between(
    rest_ns: Int64, unplaced_ns: dict[int, int], candidates: list[_Candidates], thread: int
) -> Iterator[SpentTime]:
    """The rows of time between operators. thread: the loop's."""
    left_ns = rest_ns.copy()
    for each in candidates:
        group = each.line.astype(np.intp) + 1
        served = (np.bincount(group, each.weight, len(left_ns)) > 0) & (left_ns > 0)
        time_ns = divided(np.where(served, left_ns, 0), group, each.weight)
        of = np.flatnonzero(time_ns)
        yield between(
            each.stack[of],
            time_ns[of],
            hanging=each.hanging[of],
            look=each.look[of],
            kind=np.full(len(of), LeafKind.UNEXPLAINED),
            thread=np.full(len(of), thread),
        )
        left_ns[served] = 0
    unplaced = Counter(unplaced_ns) + Counter({int(LeafKind.UNEXPLAINED): int(left_ns.sum())})
    kinds = np.array([*unplaced], np.int8)
    yield between(
        np.full(len(kinds), -1),
        np.array([unplaced[kind] for kind in kinds.tolist()], np.int64),
        kind=kinds,
        thread=np.full(len(kinds), thread),
    )


def apart(times: StepTimes, account: Account, threads_ns: int) -> ApartTimes:
    """The times that are no part of the steps' own time. threads_ns: of operators of other threads."""
    steps = times.steps
    counts = among(np.arange(len(steps)), times.leading())
    evaluation = steps.kind == StepKind.EVALUATION

    def of_steps(chosen: Mask) -> tuple[int, int]:
        return int((steps.end_ns - steps.start_ns)[chosen].sum()), int(np.count_nonzero(chosen))

    found = {
        ApartKind.START_UP: (times.start_up_ns or 0, -1),
        ApartKind.LEFT_OUT: of_steps((steps.loop == 0) & ~counts),
        ApartKind.EVALUATION: of_steps((steps.loop != 0) & evaluation),
        ApartKind.OTHER_LOOPS: of_steps((steps.loop != 0) & ~evaluation),
        ApartKind.PROCESSOR: (account.waited_ns or 0, -1),
        ApartKind.THREADS: (threads_ns, -1),
        ApartKind.AFTER: (int(times.after.time_ns.sum()), -1),
    }
    kept = {kind: row for kind, row in found.items() if row[0] > 0}
    return ApartTimes(
        kind=np.array([*kept], np.int8),
        time_ns=np.array([time_ns for time_ns, _ in kept.values()], np.int64),
        count=np.array([count for _, count in kept.values()], np.int64),
    )
