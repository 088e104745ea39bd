"""What is wrong with the number of threads, or with what they do: one function for each kind of problem.

Limits are parts of the wall time: below them nothing is worth a change of settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.teams.active import activity
from perfprobe.analyse.teams.operators import OperatorActivity
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import Look, Samples
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings
from perfprobe.tables.teams import ThreadInventory, ThreadKind, ThreadProblem
from perfprobe.tables.trace import Trace

_WAITED = 0.1  # waited for the program's own threads
_THROTTLED = 0.02
_SPUN = 0.03
_RUNS = 0.1  # of the time between two ticks: helpers that run less are at other work
_LONG = 0.15  # in a serial operator
_BUSY_TEAM = 0.25  # of a team's other members: an operator with fewer is serial
_CALLING = 0.25  # of a thread: an operator whose caller ran less waited for something
_PART = 0.05  # of all operator time: a thread with less is none of those that call operators
_RAN_NS = 1_000_000  # a member of a team that ran less does not count
_LONGEST_SPIN_NS = 20_000_000  # libgomp's own limit is 10 ms or so: spinning beyond it was asked for
_STANDS = 0.2  # of the time: a caller that runs less waits
_POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


class Found(NamedTuple):
    """A row of `ThreadProblems`; frame: -1 where no line is known."""

    problem: ThreadProblem
    threads: int
    cost_ns: int
    frame: int = -1
    name: str = ""


@frozen
class Known:
    """What problems are found in."""

    trace: Trace
    processors: Processors
    inventory: ThreadInventory
    operators: OperatorActivity
    team: int | None

    @property
    def recording(self) -> Recording:
        """Its recording."""
        return self.trace.recording

    @property
    def allowed(self) -> float:
        """Processors that the process may use; infinite where that is not known."""
        allowed = self.processors.allowed_cores
        return float("inf") if allowed is None else allowed

    @property
    def team_threads(self) -> int:
        """Members of teams that ran."""
        rows = self.inventory.kind == ThreadKind.OPENMP
        return int((self.processors.threads.run_ns[rows] >= _RAN_NS).sum())

    @property
    def busiest_frame(self) -> int:
        """The line with most operator time on the thread with most of it."""
        places = self.operators.places
        return max(places, key=lambda place: place.time_ns).frame if places else -1


def problems(known: Known) -> list[Found]:
    """All of them, the costliest first."""
    nested = list(_nested(known))
    found = [*(nested or _oversubscribed(known)), *_spinning(known), *_serial(known), *_neighbours(known)]
    return sorted(found, key=lambda each: -each.cost_ns)


def _oversubscribed(known: Known) -> Iterator[Found]:
    """More threads in torch's team than processors, which waited for each other."""
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
    """The variable that sets torch's number of threads, "" where the program or torch itself did."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    threads = recording.number("torch", "threads")
    set_ = [name for name in names if recording.text("environment", name) == f"{threads:g}"]
    return f"{set_[0]}={threads:g}" if set_ else ""


def _nested(known: Known) -> Iterator[Found]:
    """Several threads that call operators, each with a team of its own."""
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
    """Helpers that run on while no operator does and the callers wait."""
    rows, open_ns = activity(known.recording), known.operators.open_ns
    if len(rows) == 0:
        return
    time_ns = rows.end_ns - rows.start_ns
    is_open = open_ns > 0
    # When an operator was open last, at the start of each interval.
    last_ns = np.maximum.accumulate(np.where(is_open, rows.end_ns, rows.start_ns[0]))
    late = ~is_open & (rows.end_ns - last_ns >= _LONGEST_SPIN_NS) & (rows.callers_ns < _STANDS * time_ns)
    late &= rows.helpers_ns >= _RUNS * time_ns
    spun_ns = int(rows.helpers_ns[late].sum())
    if spun_ns < _SPUN * known.processors.wall_ns:
        return
    names = [name for name in _POLICIES if known.recording.text("environment", name)]
    said = ", ".join(f"{name}={known.recording.text('environment', name)}" for name in names)
    frame = _sampled_frame(known.trace, rows.start_ns[late], rows.end_ns[late])
    yield Found(ThreadProblem.SPINNING, int(rows.helpers[late].max()), spun_ns, frame, said)


def _sampled_frame(trace: Trace, start_ns: Int64, end_ns: Int64) -> int:
    """The user's line at which the main thread was seen most in these intervals, which are in order."""
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
    """Operators in which one thread of a team runs, for much of the time."""
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


def _neighbours(known: Known) -> Iterator[Found]:
    """Other processes had the processors for which threads waited."""
    found = known.processors
    waited_ns = found.neighbours_ns or 0
    if waited_ns >= _WAITED * found.wall_ns:
        used = round(found.neighbours_cores or 0)
        yield Found(ThreadProblem.NEIGHBOURS, max(used, 1), waited_ns, known.busiest_frame)
