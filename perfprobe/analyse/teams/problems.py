"""Problems with the number of threads or with what they do: one function for each kind of problem.

The limits are shares of the wall time. Below them a change of settings is not worthwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.teams.active import activity
from perfprobe.analyse.teams.lock import lock_samples, lock_waited_ns
from perfprobe.analyse.teams.operators import OperatorActivity
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import ThreadActivity, ThreadInventory, ThreadKind, ThreadProblem
from perfprobe.tables.trace import Trace

_WAITED = 0.1  # threads waited for other threads of the program, or for neighbours
_THROTTLED = 0.02  # the quota was used up
_SPUN = 0.03  # helpers spun for longer than they do by default
_SPUN_BRIEFLY = 0.1  # helpers spun, also as they do by default
_RUNS = 0.1  # helpers that run for a smaller share of the time between two ticks do not spin
_LONG = 0.15  # a serial operator ran
_BUSY_TEAM = 0.25  # an operator is serial if a smaller share of the team's other members runs
_CALLING = 0.25  # an operator whose calling thread ran for a smaller share of it waited for something
_PART = 0.05  # a thread with a smaller share of all operator time does not count as calling operators
_RAN_NS = 1_000_000  # a member of a team that ran less does not count
_LONGEST_SPIN_NS = 20_000_000  # libgomp by itself stops spinning after about 10 ms; longer is a setting
_STANDS = 0.2  # a caller that runs for a smaller share of the time waits
_POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


class Found(NamedTuple):
    """A row of `ThreadProblems`. frame: -1 if no line is known."""

    problem: ThreadProblem
    threads: int
    cost_ns: int
    frame: int = -1
    name: str = ""


@frozen
class Known:
    """What the functions for problems need. team: torch's number of threads, None if not known."""

    trace: Trace
    processors: Processors
    inventory: ThreadInventory
    operators: OperatorActivity
    team: int | None

    @property
    def recording(self) -> Recording:
        """The recording of the trace."""
        return self.trace.recording

    @property
    def allowed(self) -> float:
        """Processors that the process may use; infinite if that is not known."""
        allowed = self.processors.allowed_cores
        return float("inf") if allowed is None else allowed

    @property
    def team_threads(self) -> int:
        """How many members of teams ran."""
        rows = self.inventory.kind == ThreadKind.OPENMP
        return int((self.processors.threads.run_ns[rows] >= _RAN_NS).sum())

    @property
    def busiest_frame(self) -> int:
        """The line with most operator time on the busiest thread, -1 none."""
        places = self.operators.places
        return max(places, key=lambda place: place.time_ns).frame if places else -1


def problems(known: Known) -> list[Found]:
    """All problems, the costliest first."""
    nested = list(_nested(known))
    found = [*(nested or _oversubscribed(known)), *_spinning(known), *_serial(known), *_lock(known)]
    found += _neighbours(known)
    return sorted(found, key=lambda each: -each.cost_ns)


def _oversubscribed(known: Known) -> Iterator[Found]:
    """torch's team has more threads than there are processors, and they waited for each other."""
    found, team = known.processors, known.team
    if team is None or team <= ceil(known.allowed):
        return
    waited_ns, throttled_ns = found.own_ns or 0, found.throttled_ns or 0
    is_throttled = throttled_ns >= _THROTTLED * found.wall_ns
    if waited_ns < _WAITED * found.wall_ns and not is_throttled:
        return
    quota, affinity = found.quota_cores, found.affinity_cores
    cores = known.recording.number("host", "cores")
    kind = ThreadProblem.OVERSUBSCRIPTION
    if quota is not None and (affinity is None or quota < affinity):
        kind = ThreadProblem.QUOTA
    elif affinity is not None and cores is not None and affinity < cores:
        kind = ThreadProblem.AFFINITY
    yield Found(kind, team, max(waited_ns, throttled_ns), known.busiest_frame, _setting(known.recording))


def _setting(recording: Recording) -> str:
    """The variable that sets torch's number of threads, "" if the program or torch itself set it."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    threads = recording.number("torch", "threads")
    found = [name for name in names if recording.text("environment", name) == f"{threads:g}"]
    return f"{found[0]}={threads:g}" if found else ""


def _nested(known: Known) -> Iterator[Found]:
    """Several threads call operators, each with a team of its own."""
    found, team = known.processors, known.team
    whole_ns = sum(place.time_ns for place in known.operators.places)
    calling = [place for place in known.operators.places if place.time_ns >= max(_PART * whole_ns, 1)]
    if team is None or team < 2 or len(calling) < 2 or len(calling) * team <= ceil(known.allowed):
        return
    if known.team_threads < team or (found.own_ns or 0) < _WAITED * found.wall_ns:
        return
    frame = max(calling, key=lambda place: place.time_ns).frame
    said = f"{len(calling)} threads with operators, each with a team of {team}"
    yield Found(ThreadProblem.NESTED, len(calling) * team, found.own_ns or 0, frame, said)


def _spinning(known: Known) -> Iterator[Found]:
    """Helpers keep running although no operator runs and the callers wait."""
    rows, open_ns = activity(known.recording), known.operators.open_ns
    if len(rows) == 0:
        return
    spun_ns, is_late = spinning(rows, open_ns)
    by_setting_ns, wall_ns = int(spun_ns[is_late].sum()), known.processors.wall_ns
    if by_setting_ns >= _SPUN * wall_ns:
        said = ", ".join(_policies(known.recording))
        seen = is_late & (spun_ns > 0)
    elif int(spun_ns.sum()) >= _SPUN_BRIEFLY * wall_ns:
        said = "each time up to some 10 ms after an operator, as OpenMP does by default"
        seen = spun_ns > 0
    else:
        return
    frame = _sampled_frame(known.trace, rows.start_ns[seen], rows.end_ns[seen])
    yield Found(ThreadProblem.SPINNING, int(rows.helpers[seen].max()), int(spun_ns[seen].sum()), frame, said)


def spinning(rows: ThreadActivity, open_ns: Int64) -> tuple[Int64, Mask]:
    """For each interval: the least time in ns that helpers spun; whether no operator ran for a while.

    Helpers may work for as long as an operator runs, and at any time if the caller works without one, for
    another library. Only the rest is spinning for certain.

    Args:
        open_ns: time in operators, of each interval.
    """
    time_ns = rows.end_ns - rows.start_ns
    waits = rows.callers_ns - open_ns < _STANDS * np.maximum(time_ns - open_ns, 0)
    spun_ns = np.where(waits, np.maximum(rows.helpers_ns - rows.helpers * open_ns, 0), 0)
    spun_ns[spun_ns < _RUNS * time_ns] = 0
    last_ns = np.maximum.accumulate(np.where(open_ns > 0, rows.end_ns, rows.start_ns[0]))
    return spun_ns, (open_ns == 0) & (rows.end_ns - last_ns >= _LONGEST_SPIN_NS)


def _policies(recording: Recording) -> Iterator[str]:
    for name in _POLICIES:
        value = recording.text("environment", name)
        if value:
            yield f"{name}={value}"


def _sampled_frame(trace: Trace, start_ns: Int64, end_ns: Int64) -> int:
    """The user line that samples of the main thread show most in these intervals, -1 none.

    The intervals must be in order, without overlaps.
    """
    recording = trace.recording
    samples = recording[Samples]
    is_main = recording.main_thread()[samples.thread] & (samples.look == Look.READ) & (samples.stack >= 0)
    samples = samples.take(is_main)
    if len(samples) == 0:
        return -1
    moments = np.column_stack((start_ns, end_ns)).ravel()
    passed = np.column_stack(
        (np.cumsum(end_ns - start_ns) - (end_ns - start_ns), np.cumsum(end_ns - start_ns))
    )
    begun, ended = (np.interp(at, moments, passed.ravel()) for at in (samples.start_ns, samples.end_ns))
    frame = trace.sites.frame[samples.stack]
    inside: Mask = frame >= 0
    if not bool(inside.any()):
        return -1
    by_frame = np.bincount(frame[inside], weights=(ended - begun)[inside])
    return int(by_frame.argmax()) if by_frame.max() > 0 else -1


def _serial(known: Known) -> Iterator[Found]:
    """Operators that take much of the time, and in which only one thread of the team runs."""
    team, found = known.team, known.processors
    rows = known.operators.operators
    usable = min(float(team or 1), known.allowed)
    if usable < 2:
        return
    strings = known.recording[Strings]
    least_ppm = _CALLING * 1_000_000
    busy = rows.helpers_ppm + rows.error_ppm < _BUSY_TEAM * (usable - 1) * np.maximum(rows.callers_ppm, 1)
    chosen = busy & (rows.callers_ppm >= least_ppm) & (rows.self_ns >= _LONG * found.wall_ns)
    for at in np.flatnonzero(chosen).tolist():
        idle = ((usable - 1) * int(rows.callers_ppm[at]) - int(rows.helpers_ppm[at])) / 1e6
        cost_ns = round(int(rows.self_ns[at]) * idle)
        name = strings[int(rows.name[at])]
        yield Found(ThreadProblem.SERIAL, team or 1, cost_ns, int(rows.frame[at]), name)


def _lock(known: Known) -> Iterator[Found]:
    """Threads waited for Python's global lock, which lets one of them run at a time."""
    samples = lock_samples(known.recording)
    waited_ns = lock_waited_ns(samples)
    cost_ns = int(waited_ns.sum())
    if cost_ns < _WAITED * known.processors.wall_ns or cost_ns == 0:
        return
    by_thread = np.bincount(samples.thread, weights=waited_ns)
    threads = int((by_thread >= _PART * cost_ns).sum())
    frame = np.where(samples.stack >= 0, known.trace.sites.frame[samples.stack], -1)
    by_frame = np.bincount(frame + 1, weights=waited_ns)  # the first one is of no line
    by_frame[0] = 0
    yield Found(ThreadProblem.LOCK, threads, cost_ns, int(by_frame.argmax()) - 1)


def _neighbours(known: Known) -> Iterator[Found]:
    """Threads waited for processors that other processes used."""
    found = known.processors
    waited_ns = found.neighbours_ns or 0
    if waited_ns >= _WAITED * found.wall_ns:
        used = round(found.neighbours_cores or 0)
        yield Found(ThreadProblem.NEIGHBOURS, max(used, 1), waited_ns, known.busiest_frame)
