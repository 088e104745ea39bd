"""What analyse finds and reports print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import Combine, Int8, Int32, Int64, Itself, Mask, Table, column
from perfprobe.tables.events import Losses, OperatorWindows, Signatures
from perfprobe.tables.scopes import USER_SCOPE
from perfprobe.tables.sources import Sources
from perfprobe.tables.stacks import Frames, Modules
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace


class Sums(Table):
    """Calls with equal operator, signature text, line, phase and so on, and their sums.

    Columns that are not combined are what the calls have in common, as in LinkedOperators.
    """

    name: Int32 = column("the operator", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("the first signature with this text", Signatures)
    frame: Int32 = column("the user's line", Frames)
    forward_frame: Int32 = column("in backward, the line of the forward call", Frames)
    module: Int32 = column("the nn.Module, the first one with this path", Modules)
    phase: Int8 = column("a `Phase`")
    no_line: Int8 = column("a `NoLine`: why its own call has no frame")
    scope: Int8 = column("torch's RecordScope")
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)
    python_ns: Int64 = column(
        "if autograd ran Python in the calls (a Function, a hook): time in the calls themselves",
        combine=Combine.SUM,
        optional=True,
    )
    total_ns: Int64 = column(
        "time in which at least one of the calls was open on its thread", combine=Combine.OUTERMOST
    )
    cpu_ns: Int64 = column("CPU time of their threads", combine=Combine.OUTERMOST, optional=True)
    cpu_self_ns: Int64 = column("CPU time in the calls themselves", combine=Combine.SUM, optional=True)
    recording_ns: Int64 = column(
        "the part of CPU time that recording took", combine=Combine.OUTERMOST, optional=True
    )
    faults: Int64 = column("minor page faults", combine=Combine.OUTERMOST, optional=True)
    allocated_bytes: Int64 = column("memory that the calls allocated", combine=Combine.SUM, optional=True)
    freed_bytes: Int64 = column("memory that the calls freed", combine=Combine.SUM, optional=True)
    autograd_ns: Int64 = column(
        "time by the autograd profiler, including nested calls", combine=Combine.SUM, optional=True
    )
    autograd_self_ns: Int64 = column("self time by the autograd profiler", combine=Combine.SUM, optional=True)
    gpu_ns: Int64 = column(
        "GPU time of all that was launched in them", combine=Combine.OUTERMOST, optional=True
    )
    gpu_self_ns: Int64 = column("GPU time of what they launched", combine=Combine.SUM, optional=True)

    @property
    def mean_ns(self) -> Int64:
        """The mean duration of a call."""
        return self.total_ns // np.maximum(self.calls, 1)

    @property
    def is_range(self) -> Mask:
        """A mask of the rows that are ranges of the program or of torch (record_function), not operators."""
        return np.asarray(self.scope == USER_SCOPE)


class DurationBins(Table):
    """A histogram of durations: how many calls of a row took about this long. Sorted by row and bin."""

    row: Int32 = column("row of the table that the histogram belongs to")
    bin: Int32 = column("the number of the bin, which grows with the duration (`analyse.durations`)")
    coarser: Int8 = column("how many times the width of the row's bins was doubled")
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    sum_ns: Int64 = column("sum of their durations, including nested calls of the row", combine=Combine.SUM)


class HotspotRows(Sums):
    """One row for each operator, signature text, line and phase, or for fewer keys: see `Hotspots.group`.

    A key is -1 if the calls of a row may differ in it. `module` is a row of `Hotspots.modules` here.
    """

    first_part: Int64 = column("its first row in `Hotspots.parts`")
    parts: Int32 = column("number of its rows there, one for each module")
    median_ns: Int64 = column("median of the calls' durations, by nearest rank")
    p95_ns: Int64 = column("95th percentile of the calls' durations, by nearest rank")
    quantile_error_ppm: Int64 = column("error of median_ns and p95_ns, in parts per million")
    usual_ns: Int64 = column(
        "usual duration: the median, or the lower quartile if most calls waited and were far longer"
    )
    long_calls: Int64 = column("number of calls far longer than usual, if they make the row's sums mislead")
    typical_ns: Int64 = column("self time in which these count with the usual duration", combine=Combine.SUM)
    operators: Int64 = column("number of different operators")
    signatures: Int64 = column("number of different signatures")
    lines: Int64 = column("number of different lines")
    forward_ns: Int64 = column("self time in forward", combine=Combine.SUM)
    backward_ns: Int64 = column("self time in backward", combine=Combine.SUM)
    recompute_ns: Int64 = column("self time in recomputation", combine=Combine.SUM)
    flops: Int64 = column(
        "operations of all calls by the work model, if there is one and it was asked for",
        combine=Combine.SUM,
        optional=True,
    )

    def has_lines(self) -> bool:
        """Whether any row has a line of the program, its own or that of its forward call."""
        return bool(((self.frame >= 0) | (self.forward_frame >= 0)).any())


class ModuleParts(Table):
    """The part of each module in a row. Modules of one row are together, most self time first."""

    module: Int32 = column("row of `Hotspots.modules`, -1 for calls outside of modules")
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)


class ModulePart(NamedTuple):
    """The part of a module in a row. id: row of `Hotspots.modules`; module: its path, None outside of all."""

    id: int
    module: str | None
    calls: int
    self_ns: int


@frozen
class Totals:
    """Sums over all operators. The times do not contain ranges.

    Attributes:
        self_ns: operator time of all threads; busiest_ns: of the thread with most of it.
        backward_ns: operator time in backward, without recomputation; linked_ns: the part with a line.
        outermost_ns: duration of outermost operators and ranges; outermost_cpu_ns: their CPU time, or None.
        cpu_timed: number of operators and ranges with CPU time.
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

    Attributes:
        modules: paths. A row whose calls came from several modules has what their paths share.
        ungrouped: the operators in focus by all keys, including modules, in no order.
        group: what a row of `rows` is, one of `support.view.GROUPS`.
        focus: selected rows and ranges. whole_rows, whole_ranges: their numbers without it.
        autograd_self_ns, gpu_self_ns, cpu_self_ns: of all operators; -1 if not recorded for each.
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
        """Returns the path of a row's module or modules; None for -1."""
        return self.modules[module] if module >= 0 else None

    def parts_of(self, rows: HotspotRows, at: int) -> list[ModulePart]:
        """Returns the modules of a row, most self time first; empty if all calls were outside."""
        first = int(rows.first_part[at])
        chosen = slice(first, first + int(rows.parts[at]))
        parts = zip(*(column[chosen].tolist() for column in self.parts.columns().values()), strict=True)
        found = [ModulePart(module, self.module(module), calls, self_ns) for module, calls, self_ns in parts]
        return [] if [entry.id for entry in found] == [-1] else found


class HotLines(Table):
    """Operator time of each line of the program. Operators without a line have one row for each reason."""

    frame: Int32 = column("a frame on the line", Frames)
    no_line: Int8 = column("a `NoLine`")
    calls: Int64 = column("number of calls", combine=Combine.SUM)
    self_ns: Int64 = column("time in the calls themselves", combine=Combine.SUM)
    typical_ns: Int64 = column("as in `HotspotRows.typical_ns`", combine=Combine.SUM)
    forward_ns: Int64 = column("the part of self_ns in forward", combine=Combine.SUM)
    backward_ns: Int64 = column("the part of self_ns in backward", combine=Combine.SUM)
    recompute_ns: Int64 = column("the part of self_ns in recomputation", combine=Combine.SUM)
    other_ns: Int64 = column("the part of self_ns in other phases", combine=Combine.SUM)
    gpu_self_ns: Int64 = column("time on GPUs", combine=Combine.SUM, optional=True)
    name: Int32 = column("the operator with most self time on the line", Strings)
    overload: Int32 = column("the name of its overload", Strings)
    signature: Int32 = column("its inputs", Signatures)


class ModuleTimes(Table):
    """Operator time of each nn.Module with its parts. A module precedes its parts. Without data loading.

    Modules with equal paths are one row.
    """

    module: Int32 = column("the first module with this path", Modules)
    parent: Int32 = column("the module that contains it, -1 for a root", Itself)
    calls: Int64 = column("number of operators in it", combine=Combine.SUM)
    total_ns: Int64 = column("time of these operators", combine=Combine.SUM)
    own_ns: Int64 = column("the part of total_ns outside of its parts", combine=Combine.SUM)
    forward_ns: Int64 = column("the part of total_ns in forward", combine=Combine.SUM)
    backward_ns: Int64 = column("the part of total_ns in backward", combine=Combine.SUM)
    recompute_ns: Int64 = column("the part of total_ns in recomputation", combine=Combine.SUM)
    other_ns: Int64 = column("the part of total_ns in other phases", combine=Combine.SUM)
    gpu_self_ns: Int64 = column("time on GPUs", combine=Combine.SUM, optional=True)


@frozen
class LibraryLines:
    """Operator time by the innermost line in installed packages, most self time first.

    is_given: whether the packages were asked for; else they define the model's classes.
    """

    lines: HotLines
    packages: tuple[str, ...]
    is_given: bool


@frozen
class HotModules:
    """Operator time within what the line of the program with most self time calls.

    line_frame: that line, or -1; line_share: its part of all in focus; line_modules: modules it ran in.
    """

    modules: ModuleTimes
    library: LibraryLines
    line_frame: int
    line_share: float
    line_modules: int

    @property
    def line_has_most(self) -> bool:
        """Whether most operator time is at that line, which then may not be specific enough."""
        return 2 * self.line_share > 1


class SourceRule(NamedTuple):
    """Which files may be read for the lines of the program.

    folder: only files below it; None for any file in the recording, "" for none. is_given: whether the user
    named it as the program's folder, wherever that was when recorded. refused: why other files are not read.
    """

    folder: str | None = None
    is_given: bool = False
    refused: str = ""


ANY_SOURCE = SourceRule()
Found = TypeVar("Found")
Made = TypeVar("Made")


class Findings:
    """All findings about a recording: at most one of each type, found by type.

    A missing finding was not computed, or nothing was recorded for it. focus: as in `Hotspots`.
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
        self._made: dict[object, Any] = {}

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """Returns what `make` returned when this was first asked for. It must not depend on anything else."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def plus(self, *found: object, source_rule: SourceRule | None = None) -> Findings:
        """Returns the findings with more of them. Losses are added to existing ones."""
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
        """Returns the finding that is a table of this name, which must exist."""
        found: Table = next(each for kind, each in self._found.items() if _name(kind) == name)
        return found

    def __getitem__(self, kind: type[Found]) -> Found:
        """Returns the finding of this type, which must exist."""
        found: Any = self._found[kind]
        return found  # type: ignore[no-any-return]

    def get(self, kind: type[Found]) -> Found | None:
        """Returns the finding of this type; None if there is none."""
        return self[kind] if kind in self._found else None

    @property
    def sources(self) -> Sources | None:
        """How observer and autograd profiler differ; None if only one of them recorded."""
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

    @property
    def operators_wall_ns(self) -> int | None:
        """The part of `wall_ns` in which operators were recorded: see `OperatorWindows`."""
        wall_ns, windows = self.wall_ns, self.trace.recording[OperatorWindows]
        if wall_ns is None or len(windows) == 0:
            return wall_ns
        return min(windows.recorded_ns(), wall_ns)


def _name(kind: type) -> str:
    """Returns the name of a table of findings; "" for other findings."""
    return kind.table_name if issubclass(kind, Table) else ""
