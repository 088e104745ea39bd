"""Changes of the number of threads, and of how they wait."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

import numpy as np

from perfprobe.diagnose.advice.known import IDLE, Known, change
from perfprobe.diagnose.advice.short import frame_of_most
from perfprobe.models.rules import thread_setting
from perfprobe.tables.advice import Change, Check, Untold
from perfprobe.tables.columns import Mask, among
from perfprobe.tables.diagnoses import Cause
from perfprobe.tables.findings import HotspotRows
from perfprobe.tables.measurements import Estimate, Measurement, Measurements
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, ThreadProblem, ThreadProblems

_TOO_MANY = (ThreadProblem.OVERSUBSCRIPTION, ThreadProblem.AFFINITY, ThreadProblem.QUOTA)
_LONG_NS = 50_000  # a call: a shorter one has no work to share
_LONG = 0.3  # of a step
_HELPS = 1.3  # times as fast with several threads
_NEARLY = 0.1  # of a processor: that much other processes take also of an idle one
_WASTED = 0.03  # of the time: waiting for processors that a team wastes
_WAITS = 0.05
_LOCKED = 0.1


def _cost_ns(known: Known, *problems: ThreadProblem) -> int:
    """What the costliest of these problems costs, 0 if there is none."""
    found = known.findings.get(ThreadProblems)
    if found is None:
        return 0
    return int(found.cost_ns[among(found.problem, problems)].max(initial=0))


def threads(known: Known) -> Iterator[Change | Untold]:
    """As many threads as processors, if torch has more."""
    teams, found = known.findings.get(Teams), known.findings.get(Processors)
    if teams is None or found is None or known.gpu is not None or not _cost_ns(known, *_TOO_MANY):
        return
    number = max(floor(teams.allowed_cores or 1), 1)
    by_program = teams.set_at is not None
    what, tries = thread_setting(number, by_program), () if by_program else (f"threads={number}",)
    saved = known.operators_share() * (1 - number / max(teams.threads or 1, number + 1))
    yield change("threads", saved, Check.CLOSE, what, what, tries=tries)


def nested_threads(known: Known) -> Iterator[Change | Untold]:
    """One torch thread for each Python thread, if each has a team."""
    teams = known.findings.get(Teams)
    if known.gpu is None and teams is not None and _cost_ns(known, ThreadProblem.NESTED):
        saved = known.operators_share() * (1 - 1 / max(teams.threads or 1, 2))
        what = "torch.set_num_threads(1)"
        yield change("nested-threads", saved, Check.CLOSE, what, what, tries=("threads=1",))


def lock(known: Known) -> Iterator[Change | Untold]:
    """Processes, where the loop waits for Python's lock."""
    found = known.first(Cause.LOCK)
    if found is not None and found.share >= _LOCKED:
        what = "processes instead of threads"
        snippet = "multiprocessing.Process(target=...)  # in place of threading.Thread"
        yield change("lock", found.share, Check.CLOSE, what, snippet, frame=found.frame)


def more_threads(known: Known) -> Iterator[Change | Untold]:
    """More threads, if processors are idle and operators are long."""
    teams, free = known.findings.get(Teams), known.free_cores
    allowed = 0 if teams is None else floor(teams.allowed_cores or 0)
    own = None if teams is None else teams.threads
    if own is None or free is None or known.has_gpu or own >= allowed:
        return
    share = _long_share(known)
    if share < _LONG or _are_serial(known):
        return
    idle = floor(free + _NEARLY)
    if idle < 1:
        if floor((known.free_if_alone or 0) + _NEARLY) >= 1:
            yield Untold(rule="more-threads", needs=IDLE)
        return
    number = min(allowed, own + idle)
    what = f"torch.set_num_threads({number})"
    frame = frame_of_most(known.rows.take(_is_long(known.rows)))
    saved = share * (1 - own / number)
    set_at = None if teams is None else teams.set_at  # then a variable does nothing
    given = {"tries": (f"threads={number}",)} if set_at is None else {"line": set_at}
    yield change("more-threads", saved, Check.CLOSE, what, what, frame=frame, **given)


def _is_long(rows: HotspotRows) -> Mask:
    return np.asarray((rows.calls > 0) & (rows.typical_ns >= _LONG_NS * rows.calls))


def _long_share(known: Known) -> float:
    return known.operators_share(known.rows.take(_is_long(known.rows)))


def _are_serial(known: Known) -> bool:
    """Whether bench measured most of the time in operators that several threads do not make faster."""
    found = known.findings.get(Measurements)
    rows = () if found is None else found.rows
    tried = [
        (each.seen.share, _helps(each, change.speedup))
        for each in rows
        if each.seen is not None
        for change in each.counterfactuals
        if change.kind == "threads"
    ]
    helped = sum(share for share, helps in tried if helps)
    return bool(tried) and 2 * helped < sum(share for share, _ in tried)


def _helps(row: Measurement, speedup: Estimate) -> bool:
    """Whether several threads make it faster. With several in the program, bench tried one."""
    return speedup.high <= 1 / _HELPS if row.wanted.threads > 1 else speedup.low >= _HELPS


def worker_threads(known: Known) -> Iterator[Change | Untold]:
    """One thread in each worker, if their teams wait for processors and the steps for them."""
    share = known.share(Cause.DATA)
    if share >= _WAITS and _cost_ns(known, ThreadProblem.WORKERS):
        what = "torch.set_num_threads(1) in workers"
        snippet = "DataLoader(..., worker_init_fn=lambda _: torch.set_num_threads(1))"
        yield change("worker-threads", share, Check.SAME_BITS, what, snippet, tries=("worker-threads=1",))


def wait_policy(known: Known) -> Iterator[Change | Untold]:
    """Threads that sleep while they wait, if they take processors away from others of the program."""
    found = known.findings.get(Processors)
    if found is None or not _cost_ns(known, ThreadProblem.SPINNING):
        return
    wasted_ns = min(found.own_ns or 0, _cost_ns(known, ThreadProblem.SPINNING))
    share = wasted_ns / max(found.wall_ns, 1)
    if share >= _WASTED:
        what = "OMP_WAIT_POLICY=passive"
        yield change("wait-policy", share, Check.SAME_BITS, what, what, tries=("wait-policy=passive",))
