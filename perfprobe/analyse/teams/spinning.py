"""How long members of teams certainly spun: they ran while no operator did."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.teams import ThreadActivity

_RUNS = 0.1  # helpers that run for a smaller share of the time between two ticks do not spin
_LONGEST_SPIN_NS = 20_000_000  # libgomp by itself stops spinning after about 10 ms; longer is a setting
_STANDS = 0.2  # a caller that runs for a smaller share of the time waits


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
    if len(rows) == 0:
        return spun_ns, open_ns > 0
    last_ns = np.maximum.accumulate(np.where(open_ns > 0, rows.end_ns, rows.start_ns[0]))
    return spun_ns, (open_ns == 0) & (rows.end_ns - last_ns >= _LONGEST_SPIN_NS)
