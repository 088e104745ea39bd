"""How long the calls of each row took: a histogram with fixed bins, and the quantiles read from it.

A bin is the leading bits of the duration as a double: its exponent and the six bits after it. That is 64 bins
an octave, each at most 1/64 = 1.6 % wide; below 128 ns each whole number has a bin of its own. A bin keeps
the count and the sum of its calls, so its mean is exact if all of them took the same time. Rows that are
merged add up their bins. If there are too many bins, pairs of neighbours are merged, first in rows with
little time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfprobe.analyse.grouping import first_of_each, sort_codes
from perfprobe.models.intervals import rank
from perfprobe.tables.columns import Int8, Int64, Mask, Rows
from perfprobe.tables.findings import DurationBins

_MILLION = 1_000_000
MOST_BINS = 1 << 20  # bins of all batches before they are added up; afterwards at most three quarters of it

_OCTAVE_BITS = 6
_BIN_BITS = 12  # of a bin's number
_ZERO_BIN = 1022 << _OCTAVE_BITS  # leading bits (exponent, six more) of 0.5: what is subtracted from others

_FEW_GROUPS = 1024
_MOST_CODES_A_CALL = 8  # up to this many possible bins a call, counting is faster than sorting

_LITTLE_TIME = 8192  # a row has little time if it has less than this fraction (1/8192) of all time

_FAR_LONGER = 3  # a call is far longer than usual from three times the usual duration on
_FEWEST_CALLS = 5  # rows with fewer calls are not judged
_FEW_CALLS, _FEW_SHARE = 2, 10  # outliers are few: at most two calls, or one in ten
_MISLEADING_SHARE = 4  # together they make more than a quarter of the row's time
_TURN_NS = 700_000  # the shortest turn on a processor that Linux gives by itself (sched_base_slice_ns)


def binned(duration_ns: Int64, order: Rows, first: Rows) -> DurationBins:
    """The bins of each group of calls.

    Args:
        duration_ns: of each call, not negative.
        order, first: the groups, as `sort_by_keys` returns them.
    """
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    duration_ns = duration_ns[order]
    if len(first) <= _FEW_GROUPS and len(first) << _BIN_BITS <= _MOST_CODES_A_CALL * len(order):
        return _counted(group, duration_ns)
    bits = min(max(int(duration_ns.max()).bit_length(), 1), 62 - len(first).bit_length())
    longest_ns = (1 << bits) - 1  # 19 hours with 65,536 groups: longer calls count as this long
    # Each number holds group and duration, so one sort brings the calls of a bin together.
    packed = (group << bits) | np.minimum(duration_ns, longest_ns)
    packed.sort()
    sorted_ns = packed & longest_ns
    code = ((packed >> bits) << _BIN_BITS) | _bins_of(sorted_ns)
    start = first_of_each(code)
    calls = np.diff(np.append(start, len(code)))
    return _table(code[start], np.zeros(len(start), np.int8), calls, np.add.reduceat(sorted_ns, start))


def _counted(group: Rows, duration_ns: Int64) -> DurationBins:
    """Counts instead of sorting, which is faster for few groups and many calls."""
    code = (group << _BIN_BITS) | _bins_of(duration_ns)
    calls = np.bincount(code)
    found = np.flatnonzero(calls)
    # Doubles add up whole numbers exactly below 2**53 ns, a hundred days.
    sum_ns = np.bincount(code, weights=duration_ns)[found].astype(np.int64)
    return _table(found, np.zeros(len(found), np.int8), calls[found], sum_ns)


def _bins_of(duration_ns: Int64) -> Int64:
    leading = duration_ns.astype(np.float64).view(np.int64) >> (52 - _OCTAVE_BITS)
    return np.asarray(np.maximum(leading - _ZERO_BIN, 0))


def merge_bins(bins: DurationBins, row_of: Rows) -> DurationBins:
    """The bins after rows were merged. row_of: the new row of each old one."""
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
    """Merge pairs of bins in rows with little time; in all rows once those have one bin an octave.

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
    """The bins, coarsened until there are at most three quarters of `MOST_BINS`."""
    while len(bins) > MOST_BINS * 3 // 4 and int(bins.coarser.min()) < _BIN_BITS:
        bins = coarsened(bins)
    return bins


def error(bins: DurationBins) -> Int64:
    """Returns how far a quantile of each row may be from the true value, in millionths of it."""
    return np.asarray(_MILLION >> _OCTAVE_BITS << bins.coarser[first_of_each(bins.row)].astype(np.int64))


def _widest(bins: DurationBins, row: Rows) -> Int8:
    """For each new row, how coarse the coarsest bins merged into it are."""
    widest = np.zeros(int(row.max()) + 1, np.int8)
    for coarser in range(1, int(bins.coarser.max()) + 1):
        widest[row[bins.coarser == coarser]] = coarser
    return widest


def quantile(bins: DurationBins, percent: int) -> Int64:
    """The nearest-rank quantile of each row in ns: of n calls the ceil(n * percent / 100)-th shortest.

    Args:
        bins: sorted by row, every row from 0 on with at least one.
    """
    first = first_of_each(bins.row)
    up_to = np.cumsum(bins.calls)
    before = up_to[first] - bins.calls[first]
    at = np.searchsorted(up_to, before + rank(np.add.reduceat(bins.calls, first), percent) + 1)
    return np.asarray(np.rint(bins.sum_ns[at] / bins.calls[at]).astype(np.int64))


class LongCalls(NamedTuple):
    """The outliers of each row: long calls that dominate its sum; 0 where there are none.

    usual_ns: the median. If threads waited for a processor and the median is far longer than the lower
    quartile, it is the lower quartile. calls: how many outliers. excess_ns: by how much the sum would be
    smaller if they had taken the usual time. sum_ns: of all calls. judged: whether there are enough calls.
    """

    usual_ns: Int64
    calls: Int64
    excess_ns: Int64
    sum_ns: Int64
    judged: Mask


def long_calls(bins: DurationBins, *, disturbed: bool) -> LongCalls:
    """Returns which rows are dominated by outliers, or by calls during which the thread may not have run.

    Each outlier takes more than three times the usual time, and all together take more than a quarter of the
    row's time. They are few: at most two, or one in ten. If threads waited for a processor there may be more
    of them, provided that they exceed the usual time on average by a scheduler's turn; if they do not, those
    count that each do.

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
    far_calls, far_ns = _summed(bins, first, far)
    chosen = far_calls <= np.maximum(calls // _FEW_SHARE, _FEW_CALLS)
    if disturbed:
        chosen |= far_ns - far_calls * usual_ns >= far_calls * _TURN_NS
        is_turn = far & (bins.sum_ns >= (usual_ns[bins.row] + _TURN_NS) * bins.calls)
        turns, turns_ns = _summed(bins, first, is_turn)
        far_calls, far_ns = np.where(chosen, far_calls, turns), np.where(chosen, far_ns, turns_ns)
        chosen |= turns > 0
    judged = calls >= _FEWEST_CALLS
    chosen &= judged & (far_ns > sum_ns // _MISLEADING_SHARE)
    excess_ns = np.where(chosen, far_ns - far_calls * usual_ns, 0)
    return LongCalls(usual_ns, np.where(chosen, far_calls, 0), excess_ns, sum_ns, judged)


def _summed(bins: DurationBins, first: Rows, chosen: Mask) -> tuple[Int64, Int64]:
    """The number of calls in the chosen bins, and their time, for each row."""
    calls, sum_ns = (np.add.reduceat(np.where(chosen, c, 0), first) for c in (bins.calls, bins.sum_ns))
    return calls, sum_ns


def _table(code: Int64, coarser: Int8, calls: Int64, sum_ns: Int64) -> DurationBins:
    row, number = code >> _BIN_BITS, code & ((1 << _BIN_BITS) - 1)
    found = DurationBins(
        row=row.astype(np.int32), bin=number.astype(np.int32), coarser=coarser, calls=calls, sum_ns=sum_ns
    )
    return found.compact()
