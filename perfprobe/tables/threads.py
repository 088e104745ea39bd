"""Groups rows by thread, in their order."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Rows


def thread_order(thread: Int32 | Int64) -> Rows | None:
    """Returns the order that groups rows by thread; None if they are in that order."""
    if bool((thread[1:] >= thread[:-1]).all()):
        return None
    return np.argsort(thread, kind="stable")


def each_thread(thread: Int32 | Int64) -> list[tuple[int, Rows]]:
    """Returns each thread with its rows, the lowest first."""
    order = thread_order(thread)
    in_order = thread if order is None else thread[order]
    first = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    rows = np.arange(len(thread)) if order is None else order
    return [(int(thread[own[0]]), own) for own in np.split(rows, first) if len(own)]
