"""Rows of time by stack, from operators and between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int32, Int64
from perfprobe.tables.python import Look, OperatorSites
from perfprobe.tables.spent import SpentTime


def of_operators(sites: OperatorSites, time_ns: Int64, threads: Int32) -> SpentTime:
    """Operators with these times. threads: as `one_thread`."""
    same = {name: getattr(sites, name) for name in ("name", "overload", "signature", "phase", "calls")}
    placed = {"thread": threads[sites.thread], "stack": sites.own_stack, "hanging": sites.stack}
    return _rows(len(sites), {**same, **placed, "time_ns": time_ns})


def between(stack: Int32, time_ns: Int64, **given: npt.NDArray[Any]) -> SpentTime:
    """Time outside of operators in these stacks."""
    return _rows(len(stack), {"stack": stack, "hanging": stack, "time_ns": time_ns, **given})


def _rows(rows: int, given: Mapping[str, npt.NDArray[Any]]) -> SpentTime:
    """Rows with these columns; others are -1, no figure and `Look.READ`."""
    columns: dict[str, npt.NDArray[Any]] = {name: np.full(rows, -1) for name in SpentTime.dtypes}
    columns |= {"calls": np.zeros(rows), "look": np.full(rows, Look.READ), **given}
    return SpentTime(**{name: columns[name].astype(dtype) for name, dtype in SpentTime.dtypes.items()})


def one_thread(os_threads: Int64) -> Int32:
    """For each row of `threads` the first one of the same thread; one more entry, -1."""
    _, first, number = np.unique(os_threads[:-1], return_index=True, return_inverse=True)
    return np.append(first[number.reshape(-1)], -1).astype(np.int32)


def divided(whole_ns: Int64, group: npt.NDArray[np.intp], weight: Int64) -> Int64:
    """Each group's time in proportion to its rows' weights, in whole nanoseconds that sum to it.

    whole_ns: by group. A group without weight gives nothing.
    """
    sums = np.bincount(group, weight, len(whole_ns))
    exact = whole_ns[group] * (weight / np.maximum(sums, 1)[group])
    order = np.argsort(group, kind="stable")
    up_to = np.rint(np.cumsum(exact[order]))
    found = np.empty(len(group), np.int64)
    found[order] = np.diff(up_to, prepend=0).astype(np.int64)
    return found
