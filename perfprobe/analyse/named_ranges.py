"""Sums of the ranges that the program, or a library, named through NVTX, ITT or perfprobe.range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse.grouping import group_of, sort_by_keys
from perfprobe.models.intervals import rank
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.ranges import RangeKind, RangeRows, Ranges, RangeSource
from perfprobe.tables.scopes import STEP_MARK
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


def named_ranges(trace: Trace) -> RangeRows | None:
    """A row for each name, domain, source and kind, most time first; None if there are no ranges."""
    ranges = trace.recording[Ranges]
    mark = trace.recording[Strings].marks(lambda text: text == STEP_MARK)[ranges.name]
    is_named = (ranges.source != RangeSource.PYTHON) & ~(mark & (ranges.source == RangeSource.PERFPROBE))
    ranges = ranges.take(is_named)
    if len(ranges) == 0:
        return None
    ranges = replace(ranges, kind=_own_kinds(ranges))
    end_ns = _ends(ranges, trace.end_ns)
    order, first = sort_by_keys([ranges.source, ranges.domain, ranges.name, ranges.kind])
    thread = ranges.thread[order]
    least, most = (ufunc.reduceat(thread, first) for ufunc in (np.minimum, np.maximum))
    found = RangeRows(
        name=ranges.name[order[first]],
        domain=ranges.domain[order[first]],
        source=ranges.source[order[first]],
        kind=ranges.kind[order[first]],
        thread=np.where(least == most, least, -1).astype(np.int32),
        ranges=np.diff(np.append(first, len(order))),
        open=_sums((ranges.end_ns < 0) & (ranges.kind != RangeKind.MARK), order, first),
        **_times(ranges, end_ns, order, first),
    )
    return found.take(np.argsort(-found.total_ns, kind="stable"))


def _own_kinds(ranges: Ranges) -> npt.NDArray[np.int8]:
    """The kinds. If one of perfprobe's ranges is free, all of that name are, so that they share a row."""
    order, first = sort_by_keys([ranges.source, ranges.domain, ranges.name])
    is_own_free = (ranges.source == RangeSource.PERFPROBE) & (ranges.kind == RangeKind.FREE)
    some = np.empty(len(ranges), np.bool_)
    some[order] = np.repeat(
        np.logical_or.reduceat(is_own_free[order], first), np.diff(np.append(first, len(order)))
    )
    return np.where(some, np.int8(RangeKind.FREE), ranges.kind)


def _ends(ranges: Ranges, last_ns: int | None) -> Int64:
    """Returns the end of each; open ranges end with the recording. -1 for marks, or if it is not known."""
    end_ns = np.where(ranges.end_ns >= 0, ranges.end_ns, -1 if last_ns is None else last_ns)
    known = (end_ns >= ranges.start_ns) & (ranges.kind != RangeKind.MARK)
    return np.where(known, end_ns, -1)


def _sums(values: npt.NDArray[Any], order: Rows, first: Rows) -> Int64:
    return np.add.reduceat(values.astype(np.int64)[order], first)


def _times(ranges: Ranges, end_ns: Int64, order: Rows, first: Rows) -> dict[str, Int64]:
    """Sums and percentiles of the durations of each group, in ns; -1 if no end is known."""
    known = end_ns >= 0
    duration_ns = np.where(known, end_ns - ranges.start_ns, -1)
    group = group_of(order, first)
    counted = _sums(known, order, first)
    # Ranges without an end have -1, so they come first in each group.
    by_duration = np.lexsort((duration_ns, group))
    last = np.append(first[1:], len(order)) - 1

    def percentiles(percent: int) -> Int64:
        place = last - counted + 1 + rank(counted, percent)
        return np.where(counted > 0, duration_ns[by_duration][np.minimum(place, last)], -1)

    def where_known(sums: Int64) -> Int64:
        return np.where(counted > 0, sums, -1)

    return {
        "total_ns": where_known(_sums(_added_ns(ranges, end_ns, group), order, first)),
        "mean_ns": where_known(
            _sums(np.where(known, duration_ns, 0), order, first) // np.maximum(counted, 1)
        ),
        "median_ns": percentiles(50),
        "p95_ns": percentiles(95),
        "longest_ns": percentiles(100),
    }


def _added_ns(ranges: Ranges, end_ns: Int64, group: Rows) -> Int64:
    """Returns what each range adds to the time of its group: the part not covered by earlier ones on its
    thread.
    """
    thread = np.where(ranges.kind == RangeKind.NESTED, ranges.thread, -1)
    part = group_of(*sort_by_keys([group, thread]))
    order = np.lexsort((ranges.start_ns, part))
    # Ranks of times plus an offset for each part, so that a running maximum stays within its part.
    times, rank = np.unique(end_ns, return_inverse=True)
    shifted = part[order] * (len(times) + 1) + rank.reshape(-1)[order]
    latest = np.maximum.accumulate(shifted)
    before_ns = np.append(np.int64(-1), times[latest[:-1] % (len(times) + 1)])
    before_ns[_begins(part[order])] = -1
    start_ns, own_end_ns = ranges.start_ns[order], end_ns[order]
    added_ns = np.zeros(len(order), np.int64)
    added_ns[order] = np.maximum(own_end_ns - np.maximum(start_ns, before_ns), 0)
    return np.where(end_ns >= 0, added_ns, 0)


def _begins(part: Rows) -> Mask:
    return np.append(True, part[1:] != part[:-1])
