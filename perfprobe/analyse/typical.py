"""What rows would have taken without calls whose length misleads: by this they are ranked."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse import durations
from perfprobe.analyse.grouping import group_of, keep_keys, sort_by_keys
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import DurationBins, Sums
from perfprobe.tables.trace import Trace

_UNDISTURBED = 0.01  # of the wall time: threads that waited less for a processor do not mislead


def is_disturbed(trace: Trace) -> bool:
    """Whether threads waited for a processor; also where that is not known."""
    waited_ns, start_ns, end_ns = (
        trace.recording.number("processors", "waited_ns"),
        trace.start_ns,
        trace.end_ns,
    )
    if waited_ns is None or start_ns is None or end_ns is None:
        return True
    return waited_ns >= _UNDISTURBED * (end_ns - start_ns)


def typical_self(rows: Sums, bins: DurationBins, *, disturbed: bool) -> Int64:
    """Self time of each row, with the median in the place of calls whose length misleads.

    They are looked for among all calls of an operator with equal inputs, line and phase, whatever modules
    and threads they are of.
    """
    if len(rows) == 0:
        return rows.self_ns
    order, first = sort_by_keys([key for name, key in keep_keys(rows, "row").items() if name != "module"])
    row_of = group_of(order, first)
    together = durations.merge_bins(bins, row_of)
    found = durations.long_calls(together, durations.quantile(together, 50), disturbed=disturbed)
    kept = 1 - found.excess_ns / np.maximum(found.sum_ns, 1)
    return np.asarray(np.rint(rows.self_ns * kept[row_of]).astype(np.int64))
