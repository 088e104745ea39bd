"""The typical time of rows, by which they are ranked."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse import durations
from perfprobe.analyse.grouping import group_of, keep_keys, sort_by_keys
from perfprobe.models.waiting import HeldUp
from perfprobe.tables.columns import Int64, compact
from perfprobe.tables.findings import DurationBins, Sums


def typical_self(rows: Sums, bins: DurationBins, held: HeldUp) -> Int64:
    """Self time of each row in ns, in which outliers count with the usual duration.

    Outliers are found among all calls of an operator with equal inputs, line and phase, whatever the module
    and thread. If threads waited for a processor, a row with too few calls to judge is reduced by the mean
    factor of the other rows, because its calls were delayed like theirs. No row then has more than its CPU
    time, if CPU time was recorded for every operator, because all calls of a row may have been delayed.
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
    typical_ns = np.asarray(np.rint(rows.self_ns * kept[row_of]).astype(np.int64))
    timed = rows.is_range | (rows.cpu_self_ns >= 0)
    if held is HeldUp.YES and bool(timed.all()):
        return np.where(rows.is_range, typical_ns, np.minimum(typical_ns, rows.cpu_self_ns))
    return compact(typical_ns)
