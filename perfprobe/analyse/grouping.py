"""Rows of equal keys, found by sorting, and their sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Combine, Int32, Int64, Rows
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Sums
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.trace import Gap

KEYS = Sums.combined(Combine.NONE)
# What a row of the table of operators may be, and what its calls then have in common; ranges keep all keys.
GROUPS = {
    "row": KEYS,
    "op": ("name", "overload"),
    "signature": ("name", "overload", "signature"),
    "line": ("frame", "gap"),
    "module": ("module",),
}

_ADDED = Sums.combined(Combine.SUM, Combine.OUTERMOST, optional=False)
_MEASURED = Sums.combined(Combine.SUM, Combine.OUTERMOST, optional=True)

_NONE = {**{name: Sums.dtypes[name].type(-1) for name in KEYS}, "gap": np.int8(Gap.NONE)}
_LARGEST_CODE = 2**62
_MOST_PLACES = 1 << 22  # twice the rows of any table that ids refer to, a byte each
# Odd numbers without pattern: the upper 16 bits of a product with one are a hash (Knuth, volume 3, 6.4).
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
_HASH_SHIFT = np.uint64(48)


def keep_keys(rows: Sums | LinkedOperators, group: str) -> dict[str, npt.NDArray[Any]]:
    """The key columns, -1 for operators where calls of one group may differ."""
    kept = GROUPS[group]
    is_range = rows.scope == USER_SCOPE
    return {
        name: getattr(rows, name) if name in kept else np.where(is_range, getattr(rows, name), _NONE[name])
        for name in KEYS
    }


def key_rows(rows: Sums, chosen: Rows) -> dict[str, npt.NDArray[Any]]:
    """The key columns at the chosen rows."""
    return {name: getattr(rows, name)[chosen] for name in KEYS}


def sums(rows: Sums, order: Rows, first: Rows) -> dict[str, npt.NDArray[Any]]:
    """The sums of each group of rows; order and first: as `sort_by_keys` gives them."""
    found = {name: np.add.reduceat(getattr(rows, name)[order], first) for name in _ADDED}
    return {**found, **measured(rows, order, first)}


def measured(rows: Sums | LinkedOperators, order: Rows, first: Rows) -> dict[str, npt.NDArray[Any]]:
    """The sums of those columns that may hold -1 for "not recorded"."""
    return {name: measured_sums(getattr(rows, name), order, first) for name in _MEASURED}


def measured_sums(values: Int64 | Int32, order: Rows, first: Rows) -> Int64:
    """Sums of values other than -1; -1 where nothing was measured."""
    # A column that was never recorded is one repeated value: no need to compare or move its rows.
    if bool((values[:1] if values.strides == (0,) else values).max() < 0):
        return np.broadcast_to(np.int64(-1), len(first))
    values = values[order]
    measured = np.add.reduceat((values >= 0).astype(np.int64), first)
    return np.where(measured > 0, np.add.reduceat(np.maximum(values, 0), first, dtype=np.int64), -1)


def sort_by_keys(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """Rows sorted by group, in their order within each, and the place where each group begins."""
    order, codes = sort_codes(_codes(keys))
    return order, first_of_each(codes)


def group_by_keys(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """As `sort_by_keys`, but the groups in any order: many times faster where they are few."""
    codes = _codes(keys)
    for multiplier in _MULTIPLIERS:
        hashed = _hashed(codes, multiplier)
        member = np.empty(1 << 16, np.int64)
        member[hashed] = codes
        if bool((member[hashed] == codes).all()):  # no two groups have one hash
            order = np.argsort(hashed, kind="stable")  # of 16 bits: a radix sort
            return order, first_of_each(hashed[order])
    order, codes = sort_codes(codes)
    return order, first_of_each(codes)


def group_in_runs(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """As `group_by_keys`, but a group may come in several runs, which are to be added up later."""
    codes = _codes(keys)
    order = np.argsort(_hashed(codes, _MULTIPLIERS[0]), kind="stable")  # of 16 bits: a radix sort
    return order, first_of_each(codes[order])


def sort_codes(codes: Int64) -> tuple[Rows, Int64]:
    """The positions of the codes, smallest first and equal ones as they came, and the codes in that order."""
    bits = len(codes).bit_length()
    if int(codes.max()) < _LARGEST_CODE >> bits:
        # Sorting numbers is several times faster than sorting positions by them.
        combined = (codes << bits) + np.arange(len(codes))
        combined.sort()
        return combined & ((1 << bits) - 1), combined >> bits
    order = np.argsort(codes, kind="stable")
    return order, codes[order]


def group_of(order: Rows, first: Rows) -> Rows:
    """The group of each row, counted from 0; order and first: as `sort_by_keys` gives them."""
    groups = np.empty(len(order), np.intp)
    groups[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    return groups


def sums_by(group: Rows | Int32, values: Int64, groups: int) -> Int64:
    """The sum of each group; values of a damaged recording may wrap around."""
    found = np.zeros(groups, np.int64)
    np.add.at(found, group, values)
    return found


def first_of_each(keys: npt.NDArray[Any]) -> Rows:
    """The places at which a sorted column changes, the first one included."""
    return np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def _hashed(codes: Int64, multiplier: np.uint64) -> npt.NDArray[np.uint16]:
    return ((codes.view(np.uint64) * multiplier) >> _HASH_SHIFT).astype(np.uint16)


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
    size = int(key.max()) - low + 1
    if size > _MOST_PLACES:  # as only ids of a damaged recording are
        found, ranks = np.unique(key, return_inverse=True)
        return ranks.reshape(-1), len(found)
    places = key.astype(np.int64) - low
    if size <= 16:
        return places, size
    present = np.zeros(size, np.bool_)
    present[places] = True
    rank_of = np.cumsum(present) - 1
    return rank_of[places], int(rank_of[-1]) + 1
