"""What rows would have taken without calls whose length misleads: by this they are ranked."""

from __future__ import annotations

from enum import Enum

import numpy as np

from perfprobe.analyse import durations
from perfprobe.analyse.grouping import group_of, keep_keys, sort_by_keys
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import DurationBins, Sums
from perfprobe.tables.trace import Trace

_UNDISTURBED = 0.01  # of the wall time: threads that waited less for a processor do not mislead


class HeldUp(Enum):
    """Whether threads waited for a processor."""

    NO = "no"
    UNKNOWN = "unknown"
    YES = "yes"


def held_up(trace: Trace) -> HeldUp:
    """What the recording knows of that."""
    waited_ns, start_ns = trace.recording.number("processors", "waited_ns"), trace.start_ns
    if waited_ns is None or start_ns is None or trace.end_ns is None:
        return HeldUp.UNKNOWN
    return HeldUp.YES if waited_ns >= _UNDISTURBED * (trace.end_ns - start_ns) else HeldUp.NO


def typical_self(rows: Sums, bins: DurationBins, held: HeldUp) -> Int64:
    """Self time of each row, with usual calls in the place of those whose length misleads.

    They are looked for among all calls of an operator with equal inputs, line and phase, whatever modules
    and threads they are of. Where threads waited for a processor, a row of too few calls to tell keeps as
    much of its time as the others do together: its calls were held up like theirs.
    """
    if len(rows) == 0:
        return rows.self_ns
    order, first = sort_by_keys([key for name, key in keep_keys(rows, "row").items() if name != "module"])
    row_of = group_of(order, first)
    together = durations.merge_bins(bins, row_of)
    found = durations.long_calls(together, disturbed=held is not HeldUp.NO)
    kept = 1 - found.excess_ns / np.maximum(found.sum_ns, 1)
    if held is HeldUp.YES and bool(found.judged.any()):
        self_ns = np.add.reduceat(rows.self_ns[order], first)[found.judged]
        kept[~found.judged] = (self_ns * kept[found.judged]).sum() / max(self_ns.sum(), 1)
    return np.asarray(np.rint(rows.self_ns * kept[row_of]).astype(np.int64))
