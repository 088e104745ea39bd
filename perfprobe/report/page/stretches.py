"""Which parts of a recording the timeline shows: some steps, or all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.steps import StepMark, StepTimes
from perfprobe.tables.trace import Trace

MOST_OUTLIERS = 3


class Stretch(NamedTuple):
    """A part of a recording. step: its row in JSON's `steps`, -1 for none. number: among the loop's."""

    what: str
    step: int
    number: int
    start_ns: int
    end_ns: int


def stretches(trace: Trace, times: StepTimes | None) -> list[Stretch]:
    """The median, the fastest and the slowest step, and outliers; without steps the whole recording."""
    rows = np.empty(0, np.intp) if times is None else _of_leading(times)
    if times is None or len(rows) == 0:
        start_ns, end_ns = trace.start_ns, trace.end_ns
        if start_ns is None or end_ns is None or end_ns <= start_ns:
            start_ns, end_ns = 0, 0  # unknown: what was recorded says it
        return [Stretch("whole recording", -1, -1, start_ns, end_ns)]
    return list(_chosen(times, rows))


def _of_leading(times: StepTimes) -> Rows:
    """All steps of the leading loop, by time."""
    rows = np.flatnonzero(times.steps.loop == 0)
    return rows[np.argsort(times.steps.start_ns[rows], kind="stable")]


def _chosen(times: StepTimes, rows: Rows) -> Iterator[Stretch]:
    steps = times.steps
    lengths: Int64 = steps.end_ns - steps.start_ns
    counted = times.leading()
    steady = counted[steps.mark[counted] == StepMark.STEADY]
    order = steady if len(steady) else counted if len(counted) else rows
    order = order[np.argsort(lengths[order], kind="stable")]
    outliers = counted[steps.mark[counted] == StepMark.OUTLIER]
    outliers = outliers[np.argsort(-lengths[outliers], kind="stable")][:MOST_OUTLIERS]
    asked = [("median", order[(len(order) - 1) // 2]), ("fastest", order[0]), ("slowest", order[-1])]
    asked = asked[:1] if len(order) == 1 else [asked[0], asked[2]] if len(order) == 2 else asked
    numbers = {int(row): number for number, row in enumerate(rows.tolist())}
    seen: set[int] = set()
    for what, row in [*asked, *(("outlier", row) for row in outliers)]:
        if int(row) not in seen:
            seen.add(int(row))
            span = int(steps.start_ns[row]), int(steps.end_ns[row])
            yield Stretch(what if len(rows) > 1 else "step", int(row), numbers[int(row)], *span)
