"""Sums calls of operators by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfprobe.analyse.grouping import group_by_keys, measured_sums
from perfprobe.tables.columns import Int32, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.peers import PeerCalls

_FAR_NS = np.iinfo(np.int64).max


def calls_of(batch: LinkedOperators, rows: Rows, within: Int32) -> PeerCalls:
    """The calls in these rows of a batch, summed. within: the name of the operator around each, -1 none."""
    duration_ns = np.maximum(batch.end_ns[rows] - batch.start_ns[rows], 0)
    gpu_ns = np.asarray(batch.gpu_ns[rows])
    return merged(
        [
            PeerCalls(
                name=batch.name[rows],
                within=within,
                calls=np.ones(len(rows), np.int64),
                total_ns=duration_ns,
                least_ns=duration_ns,
                most_ns=duration_ns,
                gpu_ns=gpu_ns,
                gpu_least_ns=gpu_ns,
                gpu_most_ns=gpu_ns,
            )
        ]
    )


def merged(parts: Sequence[PeerCalls]) -> PeerCalls:
    """One row for each name and operator around it, most time first."""
    rows = PeerCalls.concat(parts)
    if len(rows) == 0:
        return rows
    order, first = group_by_keys([rows.within, rows.name])
    far_ns = np.where(rows.gpu_least_ns < 0, _FAR_NS, rows.gpu_least_ns)
    gpu_least_ns = np.minimum.reduceat(far_ns[order], first)
    found = PeerCalls(
        name=rows.name[order[first]],
        within=rows.within[order[first]],
        calls=np.add.reduceat(rows.calls[order], first),
        total_ns=np.add.reduceat(rows.total_ns[order], first),
        least_ns=np.minimum.reduceat(rows.least_ns[order], first),
        most_ns=np.maximum.reduceat(rows.most_ns[order], first),
        gpu_ns=measured_sums(rows.gpu_ns, order, first),
        gpu_least_ns=np.where(gpu_least_ns == _FAR_NS, -1, gpu_least_ns),
        gpu_most_ns=np.maximum.reduceat(rows.gpu_most_ns[order], first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))
