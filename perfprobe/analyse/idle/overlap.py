"""Finds how long computing, communication and copies ran alone and at the same time."""

from __future__ import annotations

import numpy as np

from perfprobe.analyse.idle.gaps import Work, each_device
from perfprobe.tables.columns import Rows
from perfprobe.tables.idle import Overlaps

# The column of each combination: a bit for each of COMPUTE, COMMUNICATION and COPY.
_COLUMNS = (
    *("idle_ns", "computing_ns", "communicating_ns", "computing_communicating_ns"),
    *("copying_ns", "computing_copying_ns", "communicating_copying_ns", "all_ns"),
)


def overlaps(work: Work) -> Overlaps:
    """Returns a row for each device."""
    return Overlaps.concat([_device(work, device, own) for device, own in each_device(work)])


def _device(work: Work, device: int, own: Rows) -> Overlaps:
    time_ns = np.concatenate([work.start_ns[own], work.end_ns[own]])
    change = np.concatenate([np.ones(len(own), np.int8), np.full(len(own), -1, np.int8)])
    kind = np.tile(work.kind[own], 2)
    order = np.argsort(time_ns, kind="stable")
    time_ns, change, kind = time_ns[order], change[order], kind[order]
    running = np.zeros(len(order), np.int8)
    for bit in range(3):
        is_running = np.cumsum(change * (kind == bit), dtype=np.int64) > 0
        running |= np.where(is_running, np.int8(1 << bit), np.int8(0))
    lasted_ns = np.zeros(len(_COLUMNS), np.int64)
    np.add.at(lasted_ns, running[:-1], np.diff(time_ns))
    columns = {name: lasted_ns[at : at + 1] for at, name in enumerate(_COLUMNS)}
    return Overlaps(device=np.array([device], np.int32), **columns)
