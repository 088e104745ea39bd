"""Where operator time goes: a row for each operator, signature text, line and phase, or for less.

Batches are reduced to their groups and the groups to fewer groups, so that memory depends on how many
different rows there are, not on how long the program ran.

A call inside another of the same row (same operator, inputs and line: recursion) adds to self time and
calls but not to total time: the outer one contains it. Only where the outer one is still running when a
batch of some 130,000 operators ends are those of that batch counted twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from perfprobe.analyse import durations
from perfprobe.analyse.focus import Focus
from perfprobe.analyse.gather import Gathering
from perfprobe.analyse.grouping import KEYS, collapsed, first_of_each, gathered, measured
from perfprobe.analyse.regroup import regrouped, row_count
from perfprobe.analyse.work import flops_of
from perfprobe.tables.columns import Combine, Int32, Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators, Losses, Signatures
from perfprobe.tables.findings import DurationBins, Hotspots, Sums, Totals
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.trace import Gap, Phase, Trace


class Watcher(Protocol):
    """Another analysis that sees the operators as they pass by: reading them once costs enough."""

    def add(self, batch: LinkedOperators) -> None:
        """The next batch; signature: the first one of that text."""


def hotspots(
    trace: Trace, *watchers: Watcher, group: str = "row", focus: str | None = None, work: bool = False
) -> Hotspots:
    """The hotspot tables, most self time first.

    Args:
        group: what a row is, one of `support.view.GROUPS`.
        focus: a regular expression; rows and ranges that do not match it are left out, not the totals.
        work: whether to look for the FLOPs of each row.

    Raises:
        InputError: the trace cannot be read.
        UsageError: the focus is no regular expression.
    """
    counter, gathering = _Counter(), Gathering()
    losses: list[Losses] = []
    same_text = same_signatures(trace)
    chosen = None if focus is None else Focus(trace, focus)
    for batch in trace.operators(losses):
        batch = replace(batch, signature=same_text[batch.signature])  # noqa: PLW2901 (one row, one text)
        for watcher in (counter, *watchers):
            watcher.add(batch)
        gathering.add(*_batch_rows(batch, group, chosen))
    rows, bins = gathering.reduced()
    whole_rows, whole_ranges = row_count(rows, group)
    autograd_self_ns, gpu_self_ns = _whole(rows, rows.autograd_self_ns), _whole(rows, rows.gpu_self_ns)
    if chosen is not None:
        rows, bins = _chosen_rows(rows, bins, chosen.matching(rows))
    flops = flops_of(trace, rows) if work else np.broadcast_to(np.int64(-1), len(rows))
    shown, parts, modules = regrouped(rows, bins, flops, trace, group)
    shown = shown.take(np.argsort(-shown.self_ns, kind="stable"))
    return Hotspots(
        rows=shown.take(~shown.is_range),
        ranges=shown.take(shown.is_range),
        parts=parts,
        totals=counter.totals(),
        losses=Losses.concat([trace.recording[Losses], *losses]),
        modules=modules,
        ungrouped=rows.take(~rows.is_range),
        group=group,
        focus=focus,
        whole_rows=whole_rows,
        whole_ranges=whole_ranges,
        autograd_self_ns=autograd_self_ns,
        gpu_self_ns=gpu_self_ns,
    )


def _whole(rows: Sums, self_ns: Int64) -> int:
    """The sum over all operators, -1 not recorded."""
    measured = ~rows.is_range & (self_ns >= 0)
    return int(self_ns[measured].sum()) if bool(measured.any()) else -1


def _chosen_rows(rows: Sums, bins: DurationBins, chosen: Mask) -> tuple[Sums, DurationBins]:
    kept = bins.take(chosen[bins.row])
    new_row = np.cumsum(chosen) - 1
    return rows.take(chosen), replace(kept, row=new_row[kept.row].astype(np.int32))


class _Counter:
    """Totals over all operators."""

    def __init__(self) -> None:
        self._operators = 0
        self._of_thread: dict[int, int] = {}
        self._backward_ns = 0
        self._linked_ns = 0
        self._last_end_ns: int | None = None
        self._outermost_ns: int | None = None
        self._outermost_cpu_ns: int | None = None
        self._cpu_timed = 0

    def add(self, batch: LinkedOperators) -> None:
        self._operators += len(batch)
        self_ns = np.where(batch.scope == USER_SCOPE, 0, batch.self_ns)
        first = first_of_each(batch.thread)
        for thread, time_ns in zip(
            batch.thread[first].tolist(), np.add.reduceat(self_ns, first).tolist(), strict=True
        ):
            self._of_thread[thread] = self._of_thread.get(thread, 0) + time_ns
        backward = batch.phase == Phase.BACKWARD
        self._backward_ns += int(self_ns[backward].sum())
        self._linked_ns += int(self_ns[backward & (batch.gap == Gap.NONE)].sum())
        self._last_end_ns = max(int(batch.end_ns.max()), self._last_end_ns or 0)
        self._add_cpu(batch)

    def _add_cpu(self, batch: LinkedOperators) -> None:
        self._cpu_timed += int(np.count_nonzero(batch.cpu_ns >= 0))
        measured = (batch.cpu_ns >= 0) & (batch.depth == 0)
        if bool(measured.any()):
            duration_ns = np.maximum(batch.end_ns - batch.start_ns, 0)
            self._outermost_ns = (self._outermost_ns or 0) + int(duration_ns[measured].sum())
            self._outermost_cpu_ns = (self._outermost_cpu_ns or 0) + int(batch.cpu_ns[measured].sum())

    def totals(self) -> Totals:
        return Totals(
            operators=self._operators,
            threads=len(self._of_thread),
            self_ns=sum(self._of_thread.values()),
            busiest_ns=max(self._of_thread.values(), default=0),
            backward_ns=self._backward_ns,
            linked_ns=self._linked_ns,
            last_end_ns=self._last_end_ns,
            outermost_ns=self._outermost_ns,
            outermost_cpu_ns=self._outermost_cpu_ns,
            cpu_timed=self._cpu_timed,
        )


def same_signatures(trace: Trace) -> Int32:
    """For every signature the first one of the same text, with one more entry for -1."""
    text = trace.recording[Signatures].text
    _, first, group = np.unique(text, return_index=True, return_inverse=True)
    return np.append(first[group.reshape(-1)], -1).astype(np.int32)


def _batch_rows(batch: LinkedOperators, group: str, focus: Focus | None) -> tuple[Sums, DurationBins]:
    keys: dict[str, npt.NDArray[Any]] = {name: getattr(batch, name) for name in KEYS}
    order, first = gathered([batch.thread, *keys.values()])
    duration_ns = np.maximum(batch.end_ns - batch.start_ns, 0)
    # Of calls of the same row of the report the outermost counts, whichever row it is of here.
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
    """The batch with CPU and GPU time and page faults of nested calls left to the calls around them."""
    totals = {name: getattr(batch, name) for name in LinkedOperators.combined(Combine.OUTERMOST)}
    recorded = {
        name: column.copy() for name, column in totals.items() if len(nested) and int(column.max()) >= 0
    }
    for column in recorded.values():
        column[nested] = np.minimum(column[nested], 0)  # what is not known of a call stays so
    return replace(batch, **recorded) if recorded else batch


def _report_rows(batch: LinkedOperators, group: str, focus: Focus | None) -> tuple[Rows, Rows]:
    """The batch grouped as the report does, what is not in focus apart."""
    in_focus = [] if focus is None else [focus.matching(batch)]
    return gathered([batch.thread, *collapsed(batch, group).values(), *in_focus])


def _nested(batch: LinkedOperators, order: Rows, first: Rows) -> Mask:
    """Which rows, in sorted order, run inside a later row of their group.

    Within a group rows come in the order in which they ended, so the row directly before one that contains
    any is contained: where no row contains the one before it, none contains any.
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
    # A later group's values are all larger, so the smallest value from here on is one of this group.
    value = group[places] * len(places) + rank.reshape(-1)
    smallest = np.minimum.accumulate(value[::-1])[::-1]
    nested[places[:-1]] = smallest[1:] <= value[:-1]
    return nested
