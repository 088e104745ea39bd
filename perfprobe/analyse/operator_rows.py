"""The rows of all operators by all keys: operator, signature text, line, phase and module.

Each batch is reduced to groups, and groups are merged. So memory depends on the number of different rows, not
on how long the program ran.

A call inside another of the same row (same operator, inputs and line: recursion) adds to self time and calls,
but not to total time, because the outer call contains it. There is one exception: if the outer call still
runs when a batch of about 130,000 operators ends, inner calls in that batch count twice.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse import durations
from perfprobe.analyse.gather import Gathering
from perfprobe.analyse.grouping import KEYS, group_by_keys, keep_keys, measured, sort_by_keys
from perfprobe.analyse.typical import typical_self
from perfprobe.models.focus import Focus
from perfprobe.models.waiting import HeldUp, held_up
from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int32, Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators, Signatures
from perfprobe.tables.findings import DurationBins, Sums
from perfprobe.tables.trace import Trace


@frozen
class OperatorRows:
    """All operators and ranges by all keys, from which a report's rows are made.

    rows, bins: those in focus; the column `row` of `bins` refers to `rows`. typical_ns: see `typical_self`.
    disturbed: whether threads waited for a processor; True also if that is not known. The other fields are
    as in `Hotspots`.
    """

    rows: Sums
    bins: DurationBins
    typical_ns: Int64
    disturbed: bool
    group: str
    focus: str | None
    whole_rows: int
    whole_ranges: int
    autograd_self_ns: int
    gpu_self_ns: int
    cpu_self_ns: int

    @cached_property
    def operators(self) -> Sums:
        """The rows without ranges."""
        return self.rows.take(~self.rows.is_range)

    @property
    def typical_operators_ns(self) -> Int64:
        """Typical self time of each row of `operators`, in ns."""
        return self.typical_ns[~self.rows.is_range]


class RowsOfOperators:
    """Takes the operators of a trace batch by batch.

    Args:
        group: what a row is, one of `support.view.GROUPS`.
        focus: a regular expression. Rows and ranges that do not match it are left out.

    Raises:
        UsageError: the focus is not a regular expression.
    """

    def __init__(self, trace: Trace, group: str, focus: str | None) -> None:
        self._group, self._pattern = group, focus
        self._held_up = held_up(trace)
        self._focus = None if focus is None else Focus(trace, focus)
        self._gathering = Gathering()

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, with one id for equal texts of signatures."""
        self._gathering.add(*_batch_rows(batch, self._group, self._focus))

    def result(self) -> OperatorRows:
        """The rows of all batches, merged by their keys."""
        rows, bins = self._gathering.add_up()
        whole_rows, whole_ranges = _row_count(rows, self._group)
        autograd_self_ns, gpu_self_ns = _whole(rows, rows.autograd_self_ns), _whole(rows, rows.gpu_self_ns)
        all_timed = bool((rows.cpu_self_ns[~rows.is_range] >= 0).all())
        cpu_self_ns = _whole(rows, rows.cpu_self_ns) if all_timed else -1
        if self._focus is not None:
            rows, bins = _chosen_rows(rows, bins, self._focus.matching(rows))
        return OperatorRows(
            rows,
            bins,
            typical_self(rows, bins, self._held_up),
            self._held_up is not HeldUp.NO,
            self._group,
            self._pattern,
            whole_rows,
            whole_ranges,
            autograd_self_ns,
            gpu_self_ns,
            cpu_self_ns,
        )


def _row_count(rows: Sums, group: str) -> tuple[int, int]:
    """Returns how many rows of operators and how many of ranges a report has."""
    if len(rows) == 0:
        return 0, 0
    keys = keep_keys(rows, group)
    order, first = sort_by_keys([keys[name] for name in KEYS if name != "module" or group == "module"])
    ranges = int(np.count_nonzero(rows.is_range[order[first]]))
    return len(first) - ranges, ranges


def _whole(rows: Sums, self_ns: Int64) -> int:
    """The sum over all operators in ns, -1 if not recorded."""
    measured = ~rows.is_range & (self_ns >= 0)
    return int(self_ns[measured].sum()) if bool(measured.any()) else -1


def _chosen_rows(rows: Sums, bins: DurationBins, chosen: Mask) -> tuple[Sums, DurationBins]:
    kept = bins.take(chosen[bins.row])
    new_row = np.cumsum(chosen) - 1
    return rows.take(chosen), replace(kept, row=new_row[kept.row].astype(np.int32))


def same_signatures(trace: Trace) -> Int32:
    """For every signature the first one with the same operator and text; one more entry, -1, for none.

    If the recording does not say which operator a signature belongs to, only the text counts.
    """
    signatures = trace.recording[Signatures]
    same = np.full(len(signatures) + 1, -1, np.int32)
    if not len(signatures):
        return same
    order, first = sort_by_keys([signatures.text, signatures.name, signatures.overload])
    same[order] = np.repeat(order[first], np.diff(np.append(first, len(order))))
    return same


def _batch_rows(batch: LinkedOperators, group: str, focus: Focus | None) -> tuple[Sums, DurationBins]:
    keys: dict[str, npt.NDArray[Any]] = {name: getattr(batch, name) for name in KEYS}
    order, first = group_by_keys([batch.thread, *keys.values()])
    duration_ns = np.maximum(batch.end_ns - batch.start_ns, 0)
    # Nested calls are found by the rows of the report, which may be coarser than the rows made here.
    same = (order, first) if group == "row" else _report_rows(batch, group, focus)
    outermost_ns = duration_ns.copy()
    nested = same[0][_nested(batch, *same)]
    outermost_ns[nested] = 0
    rows = Sums(
        **{name: column[order[first]] for name, column in keys.items()},
        calls=np.diff(np.append(first, len(order))),
        self_ns=np.add.reduceat(batch.self_ns[order], first),
        total_ns=np.add.reduceat(outermost_ns[order], first),
        **measured(_without_nested(batch, nested), order, first),
    )
    return rows, durations.binned(duration_ns, order, first)


def _without_nested(batch: LinkedOperators, nested: Rows) -> LinkedOperators:
    """The batch with totals (CPU and GPU time, page faults) of nested calls set to 0: the outer has them."""
    totals = {name: getattr(batch, name) for name in LinkedOperators.combined(Combine.OUTERMOST)}
    recorded = {
        name: column.copy() for name, column in totals.items() if len(nested) and int(column.max()) >= 0
    }
    for column in recorded.values():
        column[nested] = np.minimum(column[nested], 0)  # unknown values stay unknown
    return replace(batch, **recorded) if recorded else batch


def _report_rows(batch: LinkedOperators, group: str, focus: Focus | None) -> tuple[Rows, Rows]:
    """The batch grouped as in the report, rows out of focus separately."""
    in_focus = [] if focus is None else [focus.matching(batch)]
    return group_by_keys([batch.thread, *keep_keys(batch, group).values(), *in_focus])


def _nested(batch: LinkedOperators, order: Rows, first: Rows) -> Mask:
    """Returns which rows, in sorted order, run inside a later row of their group.

    Rows of a group are ordered by their ends. If a row contains any other, it contains the one directly
    before it. So a group in which no row contains its predecessor has no nested rows.
    """
    start_ns = batch.start_ns[order]
    holds_last = start_ns[1:] <= start_ns[:-1]
    holds_last[first[1:] - 1] = False
    nested = np.zeros(len(order), np.bool_)
    if not bool(holds_last.any()):
        return nested
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    touched = np.zeros(len(first), np.bool_)
    touched[group[:-1][holds_last]] = True
    places = np.flatnonzero(touched[group])
    _, rank = np.unique(start_ns[places], return_inverse=True)
    # Values of later groups are larger, so the smallest value from a row on belongs to its own group.
    value = group[places] * len(places) + rank.reshape(-1)
    smallest = np.minimum.accumulate(value[::-1])[::-1]
    nested[places[:-1]] = smallest[1:] <= value[:-1]
    return nested
