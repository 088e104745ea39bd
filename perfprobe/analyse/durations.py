"""How long the calls of each row took: a histogram of fixed bins, and the quantiles read from it.

A bin holds the durations whose binary logarithms have the same whole part and the same six bits after it:
64 bins an octave, each at most 1/64 = 1.6 % wide, and a bin for each whole number below 128 ns. It keeps how
many calls it holds and their sum, so that its mean is exact where it holds a single value. Bins are added up
when rows are; where there are too many of them, two neighbours become one, first in rows of little time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.grouping import first_of_each, sort_codes
from perfprobe.tables.columns import Int8, Int64, Mask, Rows
from perfprobe.tables.findings import DurationBins

_MILLION = 1_000_000
MOST_BINS = 1 << 20  # bins of all batches before they are added up; afterwards at most three quarters of it

_OCTAVE_BITS = 6
_BIN_BITS = 12  # of a bin's number
_ZERO_BIN = 1022 << _OCTAVE_BITS  # upper bound of the leading bits of a double below 1

_FEW_GROUPS = 1024
_MOST_CODES_A_CALL = 8  # up to this many possible bins a call, counting is faster than sorting

_LITTLE_TIME = 8192  # a row's time is little below this part of all time

_FAR_LONGER = 3  # times the median
_FEWEST_CALLS = 5  # with fewer calls nothing can be said
_FEW_CALLS, _FEW_SHARE = 2, 10  # two calls, or one in ten
_MISLEADING_SHARE = 4  # a quarter of the row's time
_TURN_NS = 700_000  # the shortest turn on a processor that Linux gives by itself (sched_base_slice_ns)


def binned(duration_ns: Int64, order: Rows, first: Rows) -> DurationBins:
    """The bins of each group of calls; order and first: as `sort_by_keys` gives them."""
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    duration_ns = duration_ns[order]
    if len(first) <= _FEW_GROUPS and len(first) << _BIN_BITS <= _MOST_CODES_A_CALL * len(order):
        return _counted(group, duration_ns)
    bits = min(max(int(duration_ns.max()).bit_length(), 1), 62 - len(first).bit_length())
    longest_ns = (1 << bits) - 1  # 19 hours with 65,536 groups: longer calls count as that
    # Sorting numbers that combine group and duration groups each bin without moving anything else.
    packed = (group << bits) | np.minimum(duration_ns, longest_ns)
    packed.sort()
    sorted_ns = packed & longest_ns
    code = ((packed >> bits) << _BIN_BITS) | _bins_of(sorted_ns)
    start = first_of_each(code)
    calls = np.diff(np.append(start, len(code)))
    return _table(code[start], np.zeros(len(start), np.int8), calls, np.add.reduceat(sorted_ns, start))


def _counted(group: Rows, duration_ns: Int64) -> DurationBins:
    """The same without sorting, with up to as many possible bins as calls."""
    code = (group << _BIN_BITS) | _bins_of(duration_ns)
    calls = np.bincount(code)
    found = np.flatnonzero(calls)
    # Sums of doubles are exact up to 2**53 ns, a hundred days.
    sum_ns = np.bincount(code, weights=duration_ns)[found].astype(np.int64)
    return _table(found, np.zeros(len(found), np.int8), calls[found], sum_ns)


def _bins_of(duration_ns: Int64) -> Int64:
    leading = duration_ns.astype(np.float64).view(np.int64) >> (52 - _OCTAVE_BITS)
    return np.asarray(np.maximum(leading - _ZERO_BIN, 0))


def merge_bins(bins: DurationBins, row_of: Rows) -> DurationBins:
    """The bins of merged rows; row_of: the new row of each old one."""
    if len(bins) == 0:
        return bins
    row = row_of[bins.row]
    coarser = _widest(bins, row)[row]
    number = (bins.bin >> coarser) << coarser
    order, code = sort_codes((row.astype(np.int64) << _BIN_BITS) | number)
    start = first_of_each(code)
    calls, sum_ns = (np.add.reduceat(column[order], start) for column in (bins.calls, bins.sum_ns))
    return _table(code[start], coarser[order[start]], calls, sum_ns)


def coarsened(bins: DurationBins) -> DurationBins:
    """Fewer bins: wider ones in rows of little time or, once those are octaves, in all rows.

    Args:
        bins: sorted by row, every row from 0 on with at least one.
    """
    first = first_of_each(bins.row)
    time_ns = np.add.reduceat(bins.sum_ns, first)
    chosen = (time_ns < time_ns.sum() // _LITTLE_TIME)[bins.row] & (bins.coarser < _OCTAVE_BITS)
    if not bool(chosen.any()):
        chosen = np.ones(len(bins), np.bool_)
    return merge_bins(replace(bins, coarser=bins.coarser + chosen.astype(np.int8)), np.arange(len(first)))


def fewer(bins: DurationBins) -> DurationBins:
    """The bins, coarsened as long as they are too many."""
    while len(bins) > MOST_BINS * 3 // 4 and int(bins.coarser.min()) < _BIN_BITS:
        bins = coarsened(bins)
    return bins


def error(bins: DurationBins) -> Int64:
    """How far a quantile of each row may be from the true one, in millionths of it."""
    return np.asarray(_MILLION >> _OCTAVE_BITS << bins.coarser[first_of_each(bins.row)].astype(np.int64))


def _widest(bins: DurationBins, row: Rows) -> Int8:
    """The widest bins that are added up to each row."""
    widest = np.zeros(int(row.max()) + 1, np.int8)
    for coarser in range(1, int(bins.coarser.max()) + 1):
        widest[row[bins.coarser == coarser]] = coarser
    return widest


def quantile(bins: DurationBins, percent: int) -> Int64:
    """The nearest-rank quantile of each row: of n calls the ceil(n * percent / 100)-th shortest.

    Args:
        bins: sorted by row, every row from 0 on with at least one.
    """
    first = first_of_each(bins.row)
    up_to = np.cumsum(bins.calls)
    before = up_to[first] - bins.calls[first]
    rank = -(-np.add.reduceat(bins.calls, first) * percent // 100)
    at = np.searchsorted(up_to, before + rank)
    return np.asarray(np.rint(bins.sum_ns[at] / bins.calls[at]).astype(np.int64))


class LongCalls(NamedTuple):
    """The outliers of each row, calls that dominate its sum; 0 where there are none.

    usual_ns: the median; where threads waited for a processor and most calls are far longer than the
    shortest quarter, the lower quartile. excess_ns: how much less the sum is with that in their place.
    judged: whether there are enough calls to tell.
    """

    usual_ns: Int64
    calls: Int64
    excess_ns: Int64
    sum_ns: Int64
    judged: Mask


def long_calls(bins: DurationBins, *, disturbed: bool) -> LongCalls:
    """Which rows are dominated by outliers, or by calls during which the thread may not have run.

    Each outlier takes more than three times as long as usual, and all together more than a quarter of the
    row's time. They are few (at most one in ten, or two of five and more). Where threads waited for a
    processor they may be more, if each exceeds the usual by what a scheduler gives another thread.

    Args:
        disturbed: whether threads waited for a processor, or that is not known.
    """
    first = first_of_each(bins.row)
    usual_ns = quantile(bins, 50)
    if disturbed:
        quartile_ns = quantile(bins, 25)
        usual_ns = np.where(usual_ns > _FAR_LONGER * quartile_ns, quartile_ns, usual_ns)
    far = bins.sum_ns > _FAR_LONGER * usual_ns[bins.row] * bins.calls
    calls, sum_ns = (np.add.reduceat(column, first) for column in (bins.calls, bins.sum_ns))
    far_calls, far_ns = (np.add.reduceat(np.where(far, c, 0), first) for c in (bins.calls, bins.sum_ns))
    excess_ns = far_ns - far_calls * usual_ns
    chosen = far_calls <= np.maximum(calls // _FEW_SHARE, _FEW_CALLS)
    if disturbed:
        chosen |= excess_ns >= far_calls * _TURN_NS
    judged = calls >= _FEWEST_CALLS
    chosen &= judged & (far_ns > sum_ns // _MISLEADING_SHARE)
    return LongCalls(usual_ns, np.where(chosen, far_calls, 0), np.where(chosen, excess_ns, 0), sum_ns, judged)


def _table(code: Int64, coarser: Int8, calls: Int64, sum_ns: Int64) -> DurationBins:
    row, number = code >> _BIN_BITS, code & ((1 << _BIN_BITS) - 1)
    return DurationBins(
        row=row.astype(np.int32), bin=number.astype(np.int32), coarser=coarser, calls=calls, sum_ns=sum_ns
    )
