"""Rows of equal keys, found by sorting, and their sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Sums

KEYS = ("name", "overload", "signature", "frame", "forward_frame", "module", "phase", "gap", "scope")

MEASURED = ("cpu_ns", "allocated_bytes", "freed_bytes", "autograd_ns", "autograd_self_ns")

_ADDED = ("calls", "self_ns", "total_ns")
_LARGEST_CODE = 2**62


def key_rows(rows: Sums, chosen: Rows) -> dict[str, npt.NDArray[Any]]:
    """The key columns at the chosen rows."""
    return {name: getattr(rows, name)[chosen] for name in KEYS}


def sums(rows: Sums, order: Rows, first: Rows) -> dict[str, npt.NDArray[Any]]:
    """The sums of each group of rows; order and first: as `grouped` gives them."""
    found = {name: np.add.reduceat(getattr(rows, name)[order], first) for name in _ADDED}
    return {**found, **measured(rows, order, first)}


def measured(rows: Sums | LinkedOperators, order: Rows, first: Rows) -> dict[str, npt.NDArray[Any]]:
    """The sums of those columns that may hold -1 for "not recorded"."""
    return {name: measured_sums(getattr(rows, name)[order], first) for name in MEASURED}


def measured_sums(values: Int64, first: Rows) -> Int64:
    """Sums of what is not -1; -1 where nothing was measured."""
    if bool((values < 0).all()):
        return np.full(len(first), -1, np.int64)
    measured = np.add.reduceat((values >= 0).astype(np.int64), first)
    return np.where(measured > 0, np.add.reduceat(np.maximum(values, 0), first), -1)


def grouped(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """Rows sorted by group, in their order within each, and the place where each group begins."""
    codes = _codes(keys)
    bits = len(codes).bit_length()
    if int(codes.max()) < _LARGEST_CODE >> bits:
        # Sorting numbers is several times faster than sorting positions by them.
        combined = (codes << bits) + np.arange(len(codes))
        combined.sort()
        order, codes = combined & ((1 << bits) - 1), combined >> bits
    else:
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
    return order, first_of_each(codes)


def first_of_each(keys: npt.NDArray[Any]) -> Rows:
    """The places at which a sorted column changes, the first one included."""
    return np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def _codes(keys: list[npt.NDArray[Any]]) -> Int64:
    """One number for each row, equal exactly where all keys are equal."""
    codes = np.zeros(len(keys[0]), np.int64)
    span = 1
    for key in keys:
        ranks, size = _ranks(key)
        if size == 1:
            continue
        if span * size >= _LARGEST_CODE:
            found, codes = np.unique(codes, return_inverse=True)
            codes, span = codes.reshape(-1), len(found)
        codes = codes * size + ranks
        span *= size
    return codes


def _ranks(key: npt.NDArray[Any]) -> tuple[Int64, int]:
    """The column with its distinct values numbered from 0, and how many they are."""
    low = int(key.min())
    places = key.astype(np.int64) - low
    size = int(places.max()) + 1
    if size <= 16:
        return places, size
    present = np.zeros(size, np.bool_)
    present[places] = True
    rank_of = np.cumsum(present) - 1
    return rank_of[places], int(rank_of[-1]) + 1
