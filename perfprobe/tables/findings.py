"""What analyse yields and report prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfprobe.tables.children import Children
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table
from perfprobe.tables.events import Losses
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.python import Calling
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.sources import Sources
from perfprobe.tables.trace import Trace


@dataclass(frozen=True)
class Sums(Table):
    """Calls that have operator, signature text, line, phase and more in common, and their sums.

    name, overload: string ids; signature: the first signature of that text; frame, forward_frame, phase,
    gap: as in LinkedOperators. total_ns: time in which at least one call of the row was open on its thread,
    so that a call nested in another of the same row counts once; cpu_ns, recording_ns, faults and gpu_ns
    likewise. cpu_ns, cpu_self_ns, recording_ns, faults, allocated_bytes, freed_bytes, autograd_ns,
    autograd_self_ns, gpu_ns, gpu_self_ns: -1 where they were not recorded; autograd_ns and autograd_self_ns
    count nested calls too.
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
    cpu_self_ns: Int64
    recording_ns: Int64
    faults: Int64
    allocated_bytes: Int64
    freed_bytes: Int64
    autograd_ns: Int64
    autograd_self_ns: Int64
    gpu_ns: Int64
    gpu_self_ns: Int64

    @property
    def mean_ns(self) -> Int64:
        """Mean time of a call."""
        return self.total_ns // np.maximum(self.calls, 1)

    @property
    def is_range(self) -> Mask:
        """Which rows are ranges set by the program or by torch (record_function), not operators."""
        return np.asarray(self.scope == USER_SCOPE)


@dataclass(frozen=True)
class DurationBins(Table):
    """How many calls of a row took about as long as each other; sorted by row and bin.

    row: of the table it comes with; bin: a longer duration has no smaller one (`analyse.durations`); sum_ns:
    of the calls' whole durations, nested calls of the row among them. coarser: how many times the bins of the
    row had to become twice as wide.
    """

    row: Int32
    bin: Int32
    coarser: Int8
    calls: Int64
    sum_ns: Int64


@dataclass(frozen=True)
class HotspotRows(Sums):
    """One row for each operator, signature text, line and phase, or for less of that: see `Hotspots.group`.

    A key is -1 where the calls of a row may differ in it. module: row of `Hotspots.modules`, -1 none.
    first_part, parts: where the modules of the row begin in `Hotspots.parts`, and how many they are.
    median_ns, p95_ns: of the calls' durations, by nearest rank; quantile_error_ppm: how far they may be off,
    in millionths of them. long_calls: how many calls far longer than the median make the row's sums mislead.
    operators, signatures, lines: how many different ones the calls have. forward_ns, backward_ns,
    recompute_ns: self time in these phases. flops: of all calls by the work model, -1 where there is none or
    nobody asked.
    """

    first_part: Int64
    parts: Int32
    median_ns: Int64
    p95_ns: Int64
    quantile_error_ppm: Int64
    long_calls: Int64
    operators: Int64
    signatures: Int64
    lines: Int64
    forward_ns: Int64
    backward_ns: Int64
    recompute_ns: Int64
    flops: Int64


@dataclass(frozen=True)
class ModuleParts(Table):
    """What each module has of a row; those of one row stand together, most self time first.

    module: row of `Hotspots.modules`, -1 for calls outside all modules.
    """

    module: Int32
    calls: Int64
    self_ns: Int64


class ModulePart(NamedTuple):
    """What one module has of a row. id: row of `Hotspots.modules`; module: its path, None outside all."""

    id: int
    module: str | None
    calls: int
    self_ns: int


@dataclass(frozen=True)
class Totals:
    """Sums over all operators; ranges are left out of the times.

    self_ns: operator time of all threads. busiest_ns: of the thread with most of it. threads: how many ran
    any. backward_ns: operator time in backward, recomputation left out; linked_ns: the part of it that has a
    line. last_end_ns: None without operators. outermost_cpu_ns: CPU time that their own threads spent in
    outermost operators and ranges, outermost_ns: how long just those took; None where it was not measured.
    cpu_timed: how many operators and ranges have CPU time.
    """

    operators: int
    threads: int
    self_ns: int
    busiest_ns: int
    backward_ns: int
    linked_ns: int
    last_end_ns: int | None
    outermost_ns: int | None
    outermost_cpu_ns: int | None
    cpu_timed: int


@dataclass(frozen=True)
class Hotspots:
    """Operators, ranges, their totals, and all losses known once every operator was read.

    modules: module paths; those of a row whose calls came from several modules as what they have in common.
    ungrouped: the operators in focus by all keys, modules too, in no order.
    group: what a row of `rows` is, one of `support.view.GROUPS`. focus: the regular expression that chose
    rows and ranges; whole_rows, whole_ranges: how many there are without it. autograd_self_ns,
    gpu_self_ns: of all operators, -1 not recorded.
    """

    rows: HotspotRows
    ranges: HotspotRows
    parts: ModuleParts
    totals: Totals
    losses: Losses
    modules: Sequence[str]
    ungrouped: Sums
    group: str
    focus: str | None
    whole_rows: int
    whole_ranges: int
    autograd_self_ns: int
    gpu_self_ns: int

    def module(self, module: int) -> str | None:
        """The path of a row's module or modules, None for -1."""
        return self.modules[module] if module >= 0 else None

    def parts_of(self, rows: HotspotRows, at: int) -> list[ModulePart]:
        """The modules of one row, most self time first; none where all its calls were outside of modules."""
        first = int(rows.first_part[at])
        chosen = slice(first, first + int(rows.parts[at]))
        parts = zip(*(column[chosen].tolist() for column in self.parts.columns().values()), strict=True)
        found = [ModulePart(module, self.module(module), calls, self_ns) for module, calls, self_ns in parts]
        return [] if [entry.id for entry in found] == [-1] else found


@dataclass(frozen=True)
class HotLines(Table):
    """Operator time of each line of the program; of what has no line, one row for each reason.

    frame: one of those on the line, -1 none; gap: a `Gap`. forward_ns and so on: the part of self_ns in that
    phase. gpu_self_ns: time on GPUs, -1 not recorded. name, overload, signature: of the row of `Hotspots`
    with most self time there.
    """

    frame: Int32
    gap: Int8
    calls: Int64
    self_ns: Int64
    forward_ns: Int64
    backward_ns: Int64
    recompute_ns: Int64
    other_ns: Int64
    gpu_self_ns: Int64
    name: Int32
    overload: Int32
    signature: Int32


@dataclass(frozen=True)
class Intervals(Table):
    """Time between consecutive outermost operators, by where in the user's code it passed.

    frame, to_frame: the lines at which the function that both operators ran in called the one before and the
    one after, -1 none in common; caller: the line that called that function, -1 none.
    """

    frame: Int32
    to_frame: Int32
    caller: Int32
    count: Int64
    total_ns: Int64
    longest_ns: Int64


@dataclass(frozen=True)
class Between:
    """Time outside operators on the thread with most time in them.

    threads: how many ran operators. before_ns: from the recording's start to the first operator; after_ns:
    from the last one to its end; None not known.
    """

    rows: Intervals
    threads: int
    before_ns: int | None
    after_ns: int | None

    @property
    def total_ns(self) -> int:
        """All that is known of it."""
        return int(self.rows.total_ns.sum()) + (self.before_ns or 0) + (self.after_ns or 0)


class SourceRule(NamedTuple):
    """Which files are read for the lines of the program.

    folder: only files below it; None for any that the recording names, "" for none. is_given: the user named
    that folder as the program's, wherever the program lay when it was recorded. refused: why others are not
    read.
    """

    folder: str | None = None
    is_given: bool = False
    refused: str = ""


ANY_SOURCE = SourceRule()
NO_CHILDREN = Children()


@dataclass(frozen=True)
class Findings:
    """All that a report may show; None is what was not looked at. focus: see `Hotspots`.

    named_ranges: most time first, None where none were recorded; the focus left nothing out of them.
    measurements: by `perfprobe bench`, kept beside the recording.
    """

    trace: Trace
    hotspots: Hotspots | None = None
    lines: HotLines | None = None
    between: Between | None = None
    calling: Calling | None = None
    focus: str | None = None
    gpu: GpuFindings | None = None
    named_ranges: RangeRows | None = None
    measurements: Measurements | None = None
    source_rule: SourceRule = ANY_SOURCE
    children: Children = NO_CHILDREN

    @property
    def sources(self) -> Sources | None:
        """How observer and autograd profiler agree; None where not both recorded."""
        return self.trace.sources

    @property
    def whole(self) -> bool:
        """Whether all that was recorded could be kept and read."""
        cut = self.hotspots is not None and "recording" in self.hotspots.losses.source
        return self.trace.recording.complete and not cut

    @property
    def wall_ns(self) -> int | None:
        """From the start to the end of the recording; of one that was cut short, to its last sign of life."""
        start_ns, end_ns = self.trace.start_ns, self.trace.end_ns
        last_ns = None if self.hotspots is None else self.hotspots.totals.last_end_ns
        if not self.trace.recording.complete and last_ns is not None:
            end_ns = max(last_ns, last_ns if end_ns is None else end_ns)
        return None if start_ns is None or end_ns is None or end_ns < start_ns else end_ns - start_ns
