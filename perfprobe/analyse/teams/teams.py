"""Everything about threads in one finding: inventory, activity, operators; how long members surely spun."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.teams.active import active_threads, activity, utilisation_times
from perfprobe.analyse.teams.inventory import inventory
from perfprobe.analyse.teams.operators import OperatorActivity
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.processors import Processors
from perfprobe.tables.recording import Recording
from perfprobe.tables.teams import Teams, ThreadActivity, ThreadKind
from perfprobe.tables.trace import Line, Trace, line_of

_RUNS = 0.1  # helpers that run for a smaller share of the time between two ticks do not spin
_LONGEST_SPIN_NS = 20_000_000  # libgomp by itself stops spinning after about 10 ms; longer is a setting
_STANDS = 0.2  # a caller that runs for a smaller share of the time waits
_RAN_NS = 1_000_000  # a member of a team that ran less does not count


def teams(trace: Trace, found: Processors | None, operators: OperatorActivity) -> Teams | None:
    """Everything about threads; None if fewer than two readings of their clocks were recorded."""
    if found is None:
        return None
    recording = trace.recording
    threads, rows = recording.number("torch", "threads"), activity(recording)
    active, known = active_threads(recording, found), inventory(recording, found.threads)
    spun_ns, is_late = _spinning(rows, operators.open_ns)
    is_member = known.kind == ThreadKind.OPENMP
    return Teams(
        inventory=known,
        active=active,
        times=utilisation_times(active),
        operators=operators.operators,
        busiest_lines=operators.busiest_lines,
        threads=None if threads is None else int(threads),
        allowed_cores=found.allowed_cores,
        activity=rows,
        helpers_spun_ns=spun_ns,
        is_late=is_late,
        team_threads=int((found.threads.run_ns[is_member] >= _RAN_NS).sum()),
        set_at=_set_at(recording, threads),
    )


def _set_at(recording: Recording, threads: float | None) -> Line | None:
    """The line of the latest `torch.set_num_threads`, if torch still has as many threads."""
    given = recording.fact("modes", "threads")
    return line_of(given) if isinstance(given, dict) and given.get("number") == threads else None


def _spinning(rows: ThreadActivity, open_ns: Int64) -> tuple[Int64, Mask]:
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
    if len(rows) == 0:
        return spun_ns, open_ns > 0
    last_ns = np.maximum.accumulate(np.where(open_ns > 0, rows.end_ns, rows.start_ns[0]))
    return spun_ns, (open_ns == 0) & (rows.end_ns - last_ns >= _LONGEST_SPIN_NS)
