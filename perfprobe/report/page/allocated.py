"""What operators allocated by their Python stack, for the flame graph."""

from __future__ import annotations

import numpy as np

from perfprobe.tables.columns import Int64
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.spent import SpentTime
from perfprobe.tables.trace import Trace

_KEYS = ("thread", "stack", "hanging", "name", "overload", "signature", "phase")


def allocated(trace: Trace) -> SpentTime | None:
    """Bytes in the place of times; None if memory was not recorded. Reads all operators."""
    if trace.memory is None:
        return None
    found = [_summed(*_of_batch(batch)) for batch in trace.operators()]
    keys = np.concatenate([np.empty((0, len(_KEYS)), np.int64), *(each[0] for each in found)])
    sizes = np.concatenate([np.empty(0, np.int64), *(each[1] for each in found)])
    keys, sizes = _summed(keys, sizes)
    columns = dict(zip(_KEYS, keys.T, strict=True))
    dtypes = SpentTime.dtypes
    shared = {name: np.ascontiguousarray(column, dtypes[name]) for name, column in columns.items()}
    zeros = np.zeros(len(sizes), np.int8)
    return SpentTime(
        **shared, look=zeros, kind=zeros - np.int8(1), calls=zeros.astype(np.int64), time_ns=sizes
    )


def _of_batch(batch: LinkedOperators) -> tuple[Int64, Int64]:
    rows = batch.take(np.flatnonzero(batch.allocated_bytes > 0))
    hanging = np.where(rows.forward_stack >= 0, rows.forward_stack, rows.stack)
    columns = (rows.thread, rows.stack, hanging, rows.name, rows.overload, rows.signature, rows.phase)
    return np.stack([column.astype(np.int64) for column in columns], axis=1), rows.allocated_bytes


def _summed(keys: Int64, sizes: Int64) -> tuple[Int64, Int64]:
    """The distinct keys, and the sum of each."""
    if len(keys) == 0:
        return keys, sizes
    distinct, place = np.unique(keys, axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place.reshape(-1), sizes)
    return distinct, sums
