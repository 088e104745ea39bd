"""What analyse yields and report prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfprobe.tables.columns import Int8, Int32, Int64, Table
from perfprobe.tables.events import USER_SCOPE, Losses
from perfprobe.tables.trace import Trace


@dataclass(frozen=True)
class HotspotRows(Table):
    """One row for each operator, signature text, line and phase.

    name, overload: string ids; signature: the first signature of that text; frame, forward_frame, phase,
    gap: as in LinkedOperators; module: row of `Hotspots.modules`, -1 none. total_ns: time in which at least
    one call of the row was open on its thread, so that a call nested in another of the same row counts once.
    cpu_ns: -1 where it was not measured.
    """

    name: Int32
    overload: Int32
    signature: Int32
    frame: Int32
    forward_frame: Int32
    module: Int32
    phase: Int8
    gap: Int8
    scope: Int8
    calls: Int64
    self_ns: Int64
    total_ns: Int64
    cpu_ns: Int64

    @property
    def mean_ns(self) -> Int64:
        """Mean time of a call."""
        return self.total_ns // np.maximum(self.calls, 1)

    @property
    def is_range(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which rows are ranges set by the program or by torch (record_function), not operators."""
        return np.asarray(self.scope == USER_SCOPE)


@dataclass(frozen=True)
class Totals:
    """Sums over all operators; ranges are left out of the times.

    self_ns: operator time of all threads. busiest_ns: of the thread with most of it. threads: how many ran
    any. backward_ns: operator time in backward; linked_ns: the part of it that has a line. last_end_ns:
    None without operators.
    """

    operators: int
    threads: int
    self_ns: int
    busiest_ns: int
    backward_ns: int
    linked_ns: int
    last_end_ns: int | None


@dataclass(frozen=True)
class Hotspots:
    """The hotspot table, its totals, and all losses known once every operator was read.

    modules: module paths; those of a row whose calls came from several modules as what they have in common.
    """

    rows: HotspotRows
    totals: Totals
    losses: Losses
    modules: Sequence[str]

    def module(self, module: int) -> str | None:
        """The path of a row's module or modules, None for -1."""
        return self.modules[module] if module >= 0 else None


@dataclass(frozen=True)
class Findings:
    """All that a report may show; None is what was not looked at."""

    trace: Trace
    hotspots: Hotspots | None = None
