"""Computes the time on GPUs of what each operator launched."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int32, Int64, Rows, Table
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.gpu import Copies, Kernels
from perfprobe.tables.threads import each_thread


def times_by_call(rows: Kernels | Copies, call: Int32, calls: int) -> Int64:
    """Returns how long the rows started by each of `calls` calls ran. call: -1 for rows to leave out."""
    chosen = (call >= 0) & (rows.start_ns >= 0) & (rows.end_ns > rows.start_ns)
    found_ns = np.zeros(calls, np.int64)
    np.add.at(found_ns, call[chosen], (rows.end_ns - rows.start_ns)[chosen])
    return found_ns


class Launched(Table):
    """What each API call started.

    Attributes:
        thread: the call's OS thread; -1 if none.
        time_ns: the call's time.
        place: position in the recording of the operator or range that made it; -1 if none.
        total_ns: how long its work ran on GPUs.
        self_ns: the same without graphs.
    """

    thread: Int64
    time_ns: Int64
    place: Int64
    total_ns: Int64
    self_ns: Int64


class GpuTimes:
    """Computes gpu_ns and gpu_self_ns of operators.

    The calls inside an operator are those between its start and its end on its thread. Their time is the
    difference of two cumulative sums over all calls.
    """

    def __init__(self, os_threads: Int64, launched: Launched) -> None:
        """os_threads: from `Recording.os_threads`."""
        self._os_threads = os_threads
        rows = launched.take((launched.total_ns > 0) & (launched.thread != -1))
        rows = rows.take(np.lexsort((rows.time_ns, rows.thread)))
        self._of_thread = {
            key: (rows.time_ns[own], np.append(0, np.cumsum(rows.total_ns[own])))
            for key, own in each_thread(rows.thread)
        }
        known = launched.take((launched.place >= 0) & (launched.self_ns > 0))
        self._places, row = np.unique(known.place, return_inverse=True)
        self._self_ns = np.zeros(len(self._places), np.int64)
        np.add.at(self._self_ns, row.reshape(-1), known.self_ns)

    def figures(self, rows: LinkedOperators, places: Rows) -> dict[str, Int64]:
        """Returns gpu_ns and gpu_self_ns of a batch. places: positions of its rows in the recording."""
        gpu_ns = np.zeros(len(rows), np.int64)
        for key, own in each_thread(self._os_threads[rows.thread]):
            if key in self._of_thread:
                time_ns, sums_ns = self._of_thread[key]
                first = np.searchsorted(time_ns, rows.start_ns[own])
                last = np.searchsorted(time_ns, rows.end_ns[own], "right")
                gpu_ns[own] = np.maximum(sums_ns[last] - sums_ns[first], 0)
        low, high = int(places.min()), int(places.max()) + 1
        known = slice(*np.searchsorted(self._places, (low, high)).tolist())
        at_place = np.zeros(high - low, np.int64)
        at_place[self._places[known] - low] = self._self_ns[known]
        return {"gpu_ns": gpu_ns, "gpu_self_ns": at_place[places - low]}
