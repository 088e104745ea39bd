"""What analyse yields and report prints."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Itself, Mask, Table, column
from perfprobe.tables.events import Losses, Signatures
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.sources import Sources
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


class Sums(Table):
    """Calls that have operator, signature text, line, phase and more in common, and their sums.

    Columns that are not combined are what the calls have in common, as in LinkedOperators.
    """

    name: Int32 = column("the operator", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("the first signature of that text", Signatures)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    module: Int32 = column("the nn.Module, of those of equal name the first", Modules)
    phase: Int8 = column("a `Phase`")
    gap: Int8 = column("a `Gap`: why there is no frame of its own call")
    scope: Int8 = column("torch's RecordScope")
    calls: Int64 = column("how many", combine=Combine.SUM)
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)
    python_ns: Int64 = column(
        "where autograd ran Python in the calls (a Function, a hook): time in the calls themselves",
        combine=Combine.SUM,
        optional=True,
    )
    total_ns: Int64 = column(
        "time in which at least one of them was open on its thread", combine=Combine.OUTERMOST
    )
    cpu_ns: Int64 = column("CPU time of their threads", combine=Combine.OUTERMOST, optional=True)
    cpu_self_ns: Int64 = column("CPU time in the calls themselves", combine=Combine.SUM, optional=True)
    recording_ns: Int64 = column(
        "the part of CPU time that recording took", combine=Combine.OUTERMOST, optional=True
    )
    faults: Int64 = column("page faults without a disk", combine=Combine.OUTERMOST, optional=True)
    allocated_bytes: Int64 = column("by the calls themselves", combine=Combine.SUM, optional=True)
    freed_bytes: Int64 = column("by the calls themselves", combine=Combine.SUM, optional=True)
    autograd_ns: Int64 = column(
        "time by the autograd profiler, that of nested calls too", combine=Combine.SUM, optional=True
    )
    autograd_self_ns: Int64 = column("self time by the autograd profiler", combine=Combine.SUM, optional=True)
    gpu_ns: Int64 = column(
        "on GPUs, of all that was launched in them", combine=Combine.OUTERMOST, optional=True
    )
    gpu_self_ns: Int64 = column("on GPUs, of what they launched", combine=Combine.SUM, optional=True)

    @property
    def mean_ns(self) -> Int64:
        """Mean time of a call."""
        return self.total_ns // np.maximum(self.calls, 1)

    @property
    def is_range(self) -> Mask:
        """Which rows are ranges set by the program or by torch (record_function), not operators."""
        return np.asarray(self.scope == USER_SCOPE)


class DurationBins(Table):
    """A histogram: how many calls of a row took about this long; sorted by row and bin."""

    row: Int32 = column("of the table it comes with")
    bin: Int32 = column("a longer duration has no smaller one (`analyse.durations`)")
    coarser: Int8 = column("how many times the bins of the row had to become twice as wide")
    calls: Int64 = column("how many", combine=Combine.SUM)
    sum_ns: Int64 = column("their whole durations, nested calls of the row among them", combine=Combine.SUM)


class HotspotRows(Sums):
    """One row for each operator, signature text, line and phase, or for fewer keys: see `Hotspots.group`.

    A key is -1 where the calls of a row may differ in it; module is a row of `Hotspots.modules` here.
    """

    first_part: Int64 = column("where its modules begin in `Hotspots.parts`")
    parts: Int32 = column("how many modules it has there")
    median_ns: Int64 = column("of the calls' durations, by nearest rank")
    p95_ns: Int64 = column("of the calls' durations, by nearest rank")
    quantile_error_ppm: Int64 = column("error of median_ns and p95_ns, in parts per million")
    usual_ns: Int64 = column(
        "the median; the lower quartile where most calls are far longer than that, and were held up"
    )
    long_calls: Int64 = column("how many calls far longer than the usual make the row's sums mislead")
    typical_ns: Int64 = column("self time with usual calls in the place of such", combine=Combine.SUM)
    operators: Int64 = column("how many different ones the calls have")
    signatures: Int64 = column("how many different ones the calls have")
    lines: Int64 = column("how many different ones the calls have")
    forward_ns: Int64 = column("self time in forward", combine=Combine.SUM)
    backward_ns: Int64 = column("self time in backward", combine=Combine.SUM)
    recompute_ns: Int64 = column("self time in recomputation", combine=Combine.SUM)
    flops: Int64 = column(
        "of all calls by the work model, where there is one and it was asked for",
        combine=Combine.SUM,
        optional=True,
    )


class ModuleParts(Table):
    """The part of each module in a row; those of one row are together, most self time first."""

    module: Int32 = column("row of `Hotspots.modules`, -1 for calls outside all modules")
    calls: Int64 = column("how many", combine=Combine.SUM)
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)


class ModulePart(NamedTuple):
    """The part of one module in a row. id: row of `Hotspots.modules`; module: its path, None outside all."""

    id: int
    module: str | None
    calls: int
    self_ns: int


@frozen
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


@frozen
class Hotspots:
    """Operators, ranges and their totals.

    modules: module paths; those of a row whose calls came from several modules as what they have in common.
    ungrouped: the operators in focus by all keys, modules too, in no order. group: what a row of `rows` is,
    one of `support.view.GROUPS`. focus: the regular expression that chose rows and ranges; whole_rows,
    whole_ranges: how many there are without it. Times: of all operators, -1 where not recorded for each.
    """

    rows: HotspotRows
    ranges: HotspotRows
    parts: ModuleParts
    totals: Totals
    modules: Sequence[str]
    ungrouped: Sums
    group: str
    focus: str | None
    whole_rows: int
    whole_ranges: int
    autograd_self_ns: int
    gpu_self_ns: int
    cpu_self_ns: int

    def module(self, module: int) -> str | None:
        """The path of a row's module or modules, None for -1."""
        return self.modules[module] if module >= 0 else None

    def parts_of(self, rows: HotspotRows, at: int) -> list[ModulePart]:
        """The modules of one row, most self time first; empty where all its calls were outside of modules."""
        first = int(rows.first_part[at])
        chosen = slice(first, first + int(rows.parts[at]))
        parts = zip(*(column[chosen].tolist() for column in self.parts.columns().values()), strict=True)
        found = [ModulePart(module, self.module(module), calls, self_ns) for module, calls, self_ns in parts]
        return [] if [entry.id for entry in found] == [-1] else found


class HotLines(Table):
    """Operator time of each line of the program; without a line, one row for each reason."""

    frame: Int32 = column("one of those on the line", Frames)
    gap: Int8 = column("a `Gap`")
    calls: Int64 = column("how many", combine=Combine.SUM)
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)
    typical_ns: Int64 = column("as `HotspotRows.typical_ns`", combine=Combine.SUM)
    forward_ns: Int64 = column("the part of it in forward", combine=Combine.SUM)
    backward_ns: Int64 = column("the part of it in backward", combine=Combine.SUM)
    recompute_ns: Int64 = column("the part of it in recomputation", combine=Combine.SUM)
    other_ns: Int64 = column("the part of it in no phase", combine=Combine.SUM)
    gpu_self_ns: Int64 = column("time on GPUs", combine=Combine.SUM, optional=True)
    name: Int32 = column("of the row of `Hotspots` with most self time there", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)


class ModuleTimes(Table):
    """Operator time of each nn.Module with all its parts, each before its parts; without data loading.

    Equal paths are one module.
    """

    module: Int32 = column("the first of its path", Modules)
    parent: Int32 = column("the module it is a part of, -1 for a root", Itself)
    calls: Int64 = column("operators in it", combine=Combine.SUM)
    total_ns: Int64 = column("their time", combine=Combine.SUM)
    own_ns: Int64 = column("the part of it outside of its parts", combine=Combine.SUM)
    forward_ns: Int64 = column("the part of it in forward", combine=Combine.SUM)
    backward_ns: Int64 = column("the part of it in backward", combine=Combine.SUM)
    recompute_ns: Int64 = column("the part of it in recomputation", combine=Combine.SUM)
    other_ns: Int64 = column("the part of it in no phase", combine=Combine.SUM)
    gpu_self_ns: Int64 = column("time on GPUs", combine=Combine.SUM, optional=True)


@frozen
class LibraryLines:
    """Operator time by the innermost line in installed packages, most self time first.

    packages: which; is_given: they were asked for, else they are those that define the model's classes.
    """

    lines: HotLines
    packages: tuple[str, ...]
    is_given: bool


@frozen
class HotModules:
    """Where operator time is spent within what a line of the program calls.

    line_frame: the line with most self time, -1 without any; line_share: of all in focus; line_modules: how
    many modules its operators ran in.
    """

    modules: ModuleTimes
    library: LibraryLines
    line_frame: int
    line_share: float
    line_modules: int


class Doing(IntEnum):
    """What a thread does between operators."""

    UNKNOWN = 0
    IMPORT = 1
    WAIT = 2
    RUN = 3


class Activities(Table):
    """What samples show most often in some intervals."""

    doing: Int8 = column("a `Doing`")
    stack: Int32 = column("one of the stacks that show it; of an import the one that asked for it", Stacks)
    body: Int32 = column("of an import, the stack that runs the module's code, -1 not seen", Stacks)
    doing_ns: Int64 = column("how long", combine=Combine.SUM)
    sampled_ns: Int64 = column("the time of all samples there", combine=Combine.SUM)
    looks: Int64 = column("how many they are", combine=Combine.SUM)

    @classmethod
    def none(cls, rows: int) -> Activities:
        """Rows without samples, one for each of as many intervals."""
        zeros = {name: np.zeros(rows, dtype) for name, dtype in cls.dtypes.items()}
        return cls(**{**zeros, **{name: np.full(rows, -1, np.int32) for name in ("stack", "body")}})


class Intervals(Activities):
    """Time between consecutive outermost operators, by place in the user's code.

    The lines are those at which the function that contains both operators called the one before and the one
    after.
    """

    frame: Int32 = column("where the operator before was called, -1 none in common", Frames)
    to_frame: Int32 = column("where the operator after was called, -1 none in common", Frames)
    caller: Int32 = column("the line that called that function", Frames)
    count: Int64 = column("how many", combine=Combine.SUM)
    total_ns: Int64 = column("how long together", combine=Combine.SUM)
    longest_ns: Int64 = column("the longest", combine=Combine.MOST)


@frozen
class Between:
    """Time outside operators on the thread with most time in them.

    threads: how many ran operators. before_ns: from the recording's start to the first operator; after_ns:
    from the last one to its end; None not known. outer: what samples show in these two.
    """

    rows: Intervals
    outer: Activities
    threads: int
    before_ns: int | None
    after_ns: int | None

    @property
    def total_ns(self) -> int:
        """Both together."""
        return int(self.rows.total_ns.sum()) + (self.before_ns or 0) + (self.after_ns or 0)


class SourceRule(NamedTuple):
    """Which files are read for the lines of the program.

    folder: only files below it; None for any that the recording names, "" for none. is_given: the user named
    that folder as the program's, wherever the program was when it was recorded. refused: why others are not
    read.
    """

    folder: str | None = None
    is_given: bool = False
    refused: str = ""


ANY_SOURCE = SourceRule()
Found = TypeVar("Found")


class Findings:
    """All findings about a recording: at most one of each type, found by type.

    A missing finding was not computed, or nothing of it was recorded. focus: see `Hotspots`.
    """

    def __init__(
        self,
        trace: Trace,
        *found: object,
        focus: str | None = None,
        source_rule: SourceRule = ANY_SOURCE,
    ) -> None:
        self.trace = trace
        self.focus = focus
        self.source_rule = source_rule
        self._found: dict[type, Any] = {type(each): each for each in found if each is not None}

    def plus(self, *found: object, source_rule: SourceRule | None = None) -> Findings:
        """The same with more findings; losses are added to those that are there."""
        lost = [each for each in (self.get(Losses), *found) if isinstance(each, Losses)]
        others = (each for each in (*self._found.values(), *found) if not isinstance(each, Losses))
        losses = Losses.concat(lost) if lost else None
        rule = self.source_rule if source_rule is None else source_rule
        return Findings(self.trace, *others, losses, focus=self.focus, source_rule=rule)

    def __contains__(self, kind: type | str) -> bool:
        if isinstance(kind, str):
            return any(_name(each) == kind for each in self._found)
        return kind in self._found

    def named(self, name: str) -> Table:
        """The finding that is a table of this name, which must be there."""
        found: Table = next(each for kind, each in self._found.items() if _name(kind) == name)
        return found

    def __getitem__(self, kind: type[Found]) -> Found:
        """The finding of this type, which must be there."""
        found: Any = self._found[kind]
        return found  # type: ignore[no-any-return]

    def get(self, kind: type[Found]) -> Found | None:
        """The finding of this type, None where there is none."""
        return self[kind] if kind in self._found else None

    @property
    def sources(self) -> Sources | None:
        """How observer and autograd profiler agree; None where not both recorded."""
        return self.trace.sources

    @property
    def whole(self) -> bool:
        """Whether everything was recorded and could be read."""
        losses = self.get(Losses)
        return self.trace.recording.complete and (losses is None or "recording" not in losses.source)

    @property
    def wall_ns(self) -> int | None:
        """From the start to the end of the recording; if it was cut short, to its last flush."""
        start_ns, end_ns = self.trace.start_ns, self.trace.end_ns
        totals = self.get(Totals)
        last_ns = None if totals is None else totals.last_end_ns
        if not self.trace.recording.complete and last_ns is not None:
            end_ns = max(last_ns, last_ns if end_ns is None else end_ns)
        return None if start_ns is None or end_ns is None or end_ns < start_ns else end_ns - start_ns


def _name(kind: type) -> str:
    """The name of a table of findings, "" for what has none."""
    return kind.table_name if issubclass(kind, Table) else ""
