"""Groups rows with equal keys by sorting, and sums each group.

Functions that take groups take them as `sort_by_keys` returns them: `order` has the rows, group after group,
and `first` the place in `order` at which each group begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.tables.columns import Combine, Int32, Int64, Rows, compact, distinct
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import Sums
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.trace import NoLine

KEYS = Sums.combined(Combine.NONE)
# By the name of a grouping: the keys that the calls in one row have in common. Ranges keep all keys.
GROUPS = {
    "row": KEYS,
    "op": ("name", "overload"),
    "signature": ("name", "overload", "signature"),
    "line": ("frame", "no_line"),
    "module": ("module",),
}

_ADDED = Sums.combined(Combine.SUM, Combine.OUTERMOST, optional=False)
_MEASURED = Sums.combined(Combine.SUM, Combine.OUTERMOST, optional=True)

_NONE = {**{name: Sums.dtypes[name].type(-1) for name in KEYS}, "no_line": np.int8(NoLine.NONE)}
_LARGEST_CODE = 2**62
_MOST_PLACES = 1 << 22  # twice the rows of any table that ids refer to, a byte each
# Multiplicative hashing: the upper 16 bits of the product with a large odd number (Knuth, volume 3, 6.4).
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
_HASH_SHIFT = np.uint64(48)


def keep_keys(rows: Sums | LinkedOperators, group: str) -> dict[str, npt.NDArray[Any]]:
    """The key columns. For operators, those in which calls of one group may differ are -1."""
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
    """The sums of each group of rows."""
    found = {name: compact(np.add.reduceat(getattr(rows, name)[order], first)) for name in _ADDED}
    return {**found, **measured(rows, order, first)}


def measured(rows: Sums | LinkedOperators, order: Rows, first: Rows) -> dict[str, npt.NDArray[Any]]:
    """The sums of each group, only of columns in which -1 means not recorded."""
    return {name: measured_sums(getattr(rows, name), order, first) for name in _MEASURED}


def measured_sums(values: Int64 | Int32, order: Rows, first: Rows) -> Int64:
    """The sum of each group without values of -1; -1 for a group in which nothing was measured."""
    # A column that was never recorded repeats one value in memory, so one comparison is enough.
    if bool((values[:1] if values.strides == (0,) else values).max() < 0):
        return np.broadcast_to(np.int64(-1), len(first))
    values = values[order]
    measured = np.add.reduceat((values >= 0).astype(np.int64), first)
    return np.where(measured > 0, np.add.reduceat(np.maximum(values, 0), first, dtype=np.int64), -1)


def sort_by_keys(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """The rows ordered by their keys, equal ones as they came, and the place where each group begins."""
    order, codes = sort_codes(_codes(keys))
    return order, first_of_each(codes)


def most_in_each(values: Int32, time_ns: Int64, first: Rows) -> Int32:
    """The value with most time in each group of consecutive rows."""
    ends = np.append(first[1:], len(values))
    found = []
    for start, end in zip(first.tolist(), ends.tolist(), strict=True):
        known = distinct(values[start:end])
        at = np.searchsorted(known, values[start:end])
        found.append(known[np.argmax(np.bincount(at, time_ns[start:end]))])
    return np.array(found, np.int32)


def group_by_keys(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """Like `sort_by_keys`, but with groups in any order. This is many times faster for few groups."""
    codes = _codes(keys)
    for multiplier in _MULTIPLIERS:
        hashed = _hashed(codes, multiplier)
        member = np.empty(1 << 16, np.int64)
        member[hashed] = codes
        if bool((member[hashed] == codes).all()):  # no two groups have the same hash
            order = np.argsort(hashed, kind="stable")  # numpy sorts 16-bit numbers by radix sort
            return order, first_of_each(hashed[order])
    order, codes = sort_codes(codes)
    return order, first_of_each(codes)


def group_in_runs(keys: list[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """Like `group_by_keys`, but a group may be split into several, which the caller must merge."""
    codes = _codes(keys)
    order = np.argsort(_hashed(codes, _MULTIPLIERS[0]), kind="stable")  # a radix sort, as above
    return order, first_of_each(codes[order])


def sort_codes(codes: Int64) -> tuple[Rows, Int64]:
    """The positions of the codes, smallest first, equal ones as they came; and the sorted codes."""
    bits = len(codes).bit_length()
    if int(codes.max()) < _LARGEST_CODE >> bits:
        # np.sort is several times faster than np.argsort, so code and position are sorted as one number.
        combined = (codes << bits) + np.arange(len(codes))
        combined.sort()
        return combined & ((1 << bits) - 1), combined >> bits
    order = np.argsort(codes, kind="stable")
    return order, codes[order]


def reordered(order: Rows, first: Rows, groups: Rows) -> tuple[Rows, Rows]:
    """The same groups in another order. groups: the number of each group, in the new order."""
    size = np.diff(np.append(first, len(order)))[groups]
    start = np.cumsum(size) - size
    return order[np.repeat(first[groups] - start, size) + np.arange(len(order))], start


def group_of(order: Rows, first: Rows) -> Rows:
    """The number of each row's group, from 0."""
    groups = np.empty(len(order), np.intp)
    groups[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    return groups


def sums_by(group: Rows | Int32, values: Int64, groups: int) -> Int64:
    """The sum of each group, int64. Sums over a damaged recording may overflow."""
    found = np.zeros(groups, np.int64)
    np.add.at(found, group, values)
    return found


def first_of_each(keys: npt.NDArray[Any]) -> Rows:
    """The places at which a sorted column has a new value, starting with 0."""
    return np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def _hashed(codes: Int64, multiplier: np.uint64) -> npt.NDArray[np.uint16]:
    return ((codes.view(np.uint64) * multiplier) >> _HASH_SHIFT).astype(np.uint16)


def _codes(keys: list[npt.NDArray[Any]]) -> Int64:
    """One number for each row. Two rows have the same number if and only if all keys are equal."""
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
    """The column with its distinct values numbered from 0, and how many numbers there are."""
    low = int(key.min())
    size = int(key.max()) - low + 1
    if size > _MOST_PLACES:  # happens only with ids of a damaged recording
        found, ranks = np.unique(key, return_inverse=True)
        return ranks.reshape(-1), len(found)
    places = key.astype(np.int64) - low
    if size <= 16:
        return places, size
    present = np.zeros(size, np.bool_)
    present[places] = True
    rank_of = np.cumsum(present) - 1
    return rank_of[places], int(rank_of[-1]) + 1
