"""Intervals of time that do not overlap."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64, Rows


def around(start_ns: Int64, end_ns: Int64, time_ns: Int64) -> Rows:
    """Returns the interval that each time is in, -1 for none.

    Args:
        start_ns, end_ns: the intervals by start. The end belongs to none of them. Where two overlap, the one
            that began last counts.
    """
    at = np.searchsorted(start_ns, time_ns, "right") - 1
    return np.where(time_ns < np.append(end_ns, np.iinfo(np.int64).min)[at], at, -1)
