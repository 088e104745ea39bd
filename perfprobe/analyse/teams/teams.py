"""Everything about threads in one finding: inventory, activity and operators."""

from __future__ import annotations

from perfprobe.analyse.teams.active import active_threads, activity, utilisation_times
from perfprobe.analyse.teams.inventory import inventory
from perfprobe.analyse.teams.operators import OperatorActivity
from perfprobe.analyse.teams.spinning import spinning
from perfprobe.tables.processors import Processors
from perfprobe.tables.teams import Teams, ThreadKind
from perfprobe.tables.trace import Trace

_RAN_NS = 1_000_000  # a member of a team that ran less does not count


def teams(trace: Trace, found: Processors | None, operators: OperatorActivity) -> Teams | None:
    """Everything about threads; None if fewer than two readings of their clocks were recorded."""
    if found is None:
        return None
    recording = trace.recording
    threads, rows = recording.number("torch", "threads"), activity(recording)
    active, known = active_threads(recording, found), inventory(recording, found.threads)
    spun_ns, is_late = spinning(rows, operators.open_ns)
    is_member = known.kind == ThreadKind.OPENMP
    return Teams(
        inventory=known,
        active=active,
        times=utilisation_times(active),
        operators=operators.operators,
        places=operators.places,
        threads=None if threads is None else int(threads),
        allowed_cores=found.allowed_cores,
        activity=rows,
        helpers_spun_ns=spun_ns,
        is_late=is_late,
        team_threads=int((found.threads.run_ns[is_member] >= _RAN_NS).sum()),
    )
