"""The passes over a trace. Each is requested by the type of its finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from perfprobe.analyse.account.account import account
from perfprobe.analyse.account.device import device_account
from perfprobe.analyse.account.looks import Looks, looks_of
from perfprobe.analyse.account.watch import AccountWatch, Watched
from perfprobe.analyse.baseline import baseline
from perfprobe.analyse.benchmark import benchmark
from perfprobe.analyse.between import BetweenOperators
from perfprobe.analyse.calling import CallingStructure
from perfprobe.analyse.compilations import compilations
from perfprobe.analyse.counts import CountWatch
from perfprobe.analyse.critical.watch import CriticalWatch
from perfprobe.analyse.device_memory import device_memory
from perfprobe.analyse.gpu import gpu_findings
from perfprobe.analyse.gpu_states import device_states
from perfprobe.analyse.gpu_use import gpu_use
from perfprobe.analyse.hot_modules import hot_modules
from perfprobe.analyse.hotspots import OperatorRows, RowsOfOperators, hotspots, same_signatures
from perfprobe.analyse.idle.blame import BlamedIdle
from perfprobe.analyse.idle.summed import idle_times
from perfprobe.analyse.kept.part import KeptWatch
from perfprobe.analyse.launched import launch_times
from perfprobe.analyse.library_lines import LinesOfLibraries
from perfprobe.analyse.lines import lines
from perfprobe.analyse.loader_waits import WaitsForLoaders
from perfprobe.analyse.memory.watch import MemoryWatch
from perfprobe.analyse.modes import modes
from perfprobe.analyse.named_ranges import named_ranges
from perfprobe.analyse.native_split import NativeWatch
from perfprobe.analyse.peers.plugin_steps import MarkWatch
from perfprobe.analyse.peers.watch import PeerWatch
from perfprobe.analyse.processors import processors
from perfprobe.analyse.ranks.parts import RankWatch
from perfprobe.analyse.sequences import sequences
from perfprobe.analyse.spent.in_loop import loop_spent
from perfprobe.analyse.spent.in_run import run_spent
from perfprobe.analyse.step_rows import OfSteps, RowsInSteps, SitesInSteps, StepSites, step_hotspots
from perfprobe.analyse.steps import StepWatch
from perfprobe.analyse.teams.operators import OperatorActivity, TeamWatch
from perfprobe.analyse.teams.teams import teams
from perfprobe.analyse.totals import SumsOfAll
from perfprobe.analyse.trends import trends
from perfprobe.analyse.unused_forward import UnusedForwardWatch
from perfprobe.analyse.wrappers import WrapperWatch
from perfprobe.tables.account import Account
from perfprobe.tables.between import Between
from perfprobe.tables.columns import Table
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.counters import CounterFindings
from perfprobe.tables.critical import CriticalPath
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.events import LinkedOperators, Losses
from perfprobe.tables.findings import Findings, HotLines, HotModules, Hotspots, LibraryLines, Totals
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_states import DeviceStates
from perfprobe.tables.gpu_use import GpuUse, StepMarks
from perfprobe.tables.idle import IdleTimes
from perfprobe.tables.kept import KeptPart
from perfprobe.tables.launch_times import LaunchTimes
from perfprobe.tables.live_steps import Baseline, Benchmark
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.modes import Modes
from perfprobe.tables.native_code import NativeSplit
from perfprobe.tables.peers import PeerTimes
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import Calling
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.ranks import RankParts
from perfprobe.tables.sequences import Sequences
from perfprobe.tables.spent import LoopSpent, RunSpent, Spent
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.teams import Teams
from perfprobe.tables.trace import Trace
from perfprobe.tables.trends import Trends
from perfprobe.tables.unused_forward import UnusedForward
from perfprobe.tables.workers import LoaderWaits
from perfprobe.tables.wrappers import WrapperSpans


class Asked(NamedTuple):
    """Options of a view that change what passes compute.

    group: how operators are grouped, one of `support.view.GROUPS`. focus: a regular expression. work: whether
    to compute FLOPs. package: the library whose lines are shown, see `LinesOfLibraries`.
    """

    group: str = "row"
    focus: str | None = None
    work: bool = False
    package: str | None = None


class Watcher(Protocol):
    """A pass that sees all operators. They are read once for all such passes."""

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it, but with one id for equal texts of signatures."""

    def result(self) -> Any:
        """The finding; None if nothing of it was recorded."""


class Pass(NamedTuple):
    """How a finding is made.

    make: with `watches`, a function that makes the watcher, otherwise one that makes the finding. Its
    arguments are the trace, `Asked`, and the findings in `needs`. A watcher that needs findings costs one
    more reading of all operators. by: the fields of `Asked` on which the finding depends. sums_bytes: whether
    the watcher sums what operators allocated and freed.
    """

    make: Callable[..., Any]
    needs: tuple[type, ...] = ()
    watches: bool = False
    by: tuple[str, ...] = ()
    sums_bytes: bool = False


_BY_ROWS = ("group", "focus")

PASSES: dict[type, Pass] = {
    Totals: Pass(lambda trace, asked: SumsOfAll(), watches=True),
    OperatorRows: Pass(
        lambda trace, asked: RowsOfOperators(trace, asked.group, asked.focus),
        watches=True,
        by=_BY_ROWS,
        sums_bytes=True,
    ),
    Between: Pass(lambda trace, asked: BetweenOperators(trace), watches=True),
    Calling: Pass(lambda trace, asked: CallingStructure(trace), watches=True),
    StepTimes: Pass(lambda trace, asked: StepWatch(trace), watches=True),
    Hotspots: Pass(
        lambda trace, asked, rows, totals: hotspots(trace, rows, totals, work=asked.work),
        needs=(OperatorRows, Totals),
        by=(*_BY_ROWS, "work"),
    ),
    HotLines: Pass(
        lambda trace, asked, rows: lines(trace, rows.operators, rows.typical_operators_ns),
        needs=(OperatorRows,),
        by=_BY_ROWS,
    ),
    LibraryLines: Pass(
        lambda trace, asked: LinesOfLibraries(trace, asked.package, asked.focus),
        watches=True,
        by=("focus", "package"),
    ),
    HotModules: Pass(
        lambda trace, asked, rows, lines, library: hot_modules(trace, rows.operators, lines, library),
        needs=(OperatorRows, HotLines, LibraryLines),
        by=(*_BY_ROWS, "package"),
    ),
    OfSteps: Pass(
        lambda trace, asked, times: RowsInSteps(trace, times),
        needs=(StepTimes,),
        watches=True,
        sums_bytes=True,
    ),
    StepSites: Pass(lambda trace, asked, times: SitesInSteps(trace, times), needs=(StepTimes,), watches=True),
    Watched: Pass(lambda trace, asked, times: AccountWatch(trace, times), needs=(StepTimes,), watches=True),
    Looks: Pass(lambda trace, asked, *needs: looks_of(trace, *needs), needs=(StepTimes, Watched)),
    Account: Pass(lambda trace, asked, *needs: account(trace, *needs), needs=(StepTimes, Watched, Looks)),
    Modes: Pass(lambda trace, asked, times: modes(trace, times), needs=(StepTimes,)),
    UnusedForward: Pass(
        lambda trace, asked, times: UnusedForwardWatch(trace, times), needs=(StepTimes,), watches=True
    ),
    Compilations: Pass(lambda trace, asked: compilations(trace)),
    Trends: Pass(lambda trace, asked, *needs: trends(trace, *needs), needs=(StepTimes, Looks)),
    LoopSpent: Pass(
        lambda trace, asked, *needs: loop_spent(trace, *needs),
        needs=(StepTimes, Looks, Account, StepSites),
    ),
    RunSpent: Pass(lambda trace, asked, calling: run_spent(trace, calling), needs=(Calling,)),
    StepHotspots: Pass(
        lambda trace, asked, found, of_loop, totals: step_hotspots(trace, found, of_loop, totals),
        needs=(OfSteps, Account, Totals),
    ),
    StepMarks: Pass(lambda trace, asked: MarkWatch(trace), watches=True),
    PeerTimes: Pass(lambda trace, asked, times: PeerWatch(trace, times), needs=(StepTimes,), watches=True),
    GpuUse: Pass(
        lambda trace, asked, marks, times: gpu_use(trace, marks, times), needs=(StepMarks, StepTimes)
    ),
    WrapperSpans: Pass(lambda trace, asked: WrapperWatch(trace), watches=True),
    GpuFindings: Pass(
        lambda trace, asked, times, spans: gpu_findings(trace, times.steps, spans),
        needs=(StepTimes, WrapperSpans),
    ),
    BlamedIdle: Pass(lambda trace, asked, times: BlamedIdle(trace, times), needs=(StepTimes,), watches=True),
    DeviceAccount: Pass(
        lambda trace, asked, *needs: device_account(trace, *needs), needs=(StepTimes, BlamedIdle)
    ),
    IdleTimes: Pass(
        lambda trace, asked, blamed, times: idle_times(blamed, times), needs=(BlamedIdle, StepTimes)
    ),
    LaunchTimes: Pass(lambda trace, asked: launch_times(trace)),
    RankParts: Pass(lambda trace, asked, times: RankWatch(trace, times), needs=(StepTimes,), watches=True),
    Sequences: Pass(lambda trace, asked: sequences(trace)),
    CriticalPath: Pass(
        lambda trace, asked, times: CriticalWatch(trace, times), needs=(StepTimes,), watches=True
    ),
    RangeRows: Pass(lambda trace, asked: named_ranges(trace)),
    LoaderWaits: Pass(lambda trace, asked: WaitsForLoaders(trace), watches=True),
    Processors: Pass(lambda trace, asked: processors(trace)),
    OperatorActivity: Pass(lambda trace, asked: TeamWatch(trace), watches=True),
    Teams: Pass(
        lambda trace, asked, found, operators: teams(trace, found, operators),
        needs=(Processors, OperatorActivity),
    ),
    MemoryUse: Pass(lambda trace, asked, times: MemoryWatch(trace, times), needs=(StepTimes,), watches=True),
    DeviceMemory: Pass(lambda trace, asked, times: device_memory(trace, times), needs=(StepTimes,)),
    DeviceStates: Pass(lambda trace, asked: device_states(trace)),
    CounterFindings: Pass(lambda trace, asked: CountWatch(trace), watches=True),
    NativeSplit: Pass(lambda trace, asked: NativeWatch(trace), watches=True),
    Benchmark: Pass(lambda trace, asked: benchmark(trace)),
    Baseline: Pass(lambda trace, asked: baseline(trace)),
    KeptPart: Pass(lambda trace, asked, times: KeptWatch(trace, times), needs=(StepTimes,), watches=True),
}


_OF_GPUS = (DeviceAccount, GpuFindings, GpuUse, IdleTimes, LaunchTimes, Sequences)
_AS_IT_IS = Asked()
_NAMED = {kind.table_name: kind for kind in PASSES if issubclass(kind, Table)}


class Analysis:
    """All findings about one trace. Each is made when it is first requested, and kept."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._known: dict[tuple[type, tuple[Any, ...]], Any] = {}
        self._losses: Losses | None = None

    def find(self, kinds: Iterable[type | str], asked: Asked = _AS_IT_IS) -> Findings:
        """Returns these findings and those they need, with totals and losses of the operators.

        Args:
            kinds: types of findings, or names of tables.
            asked: options that change what is computed.

        Raises:
            InputError: the trace cannot be read.
            UsageError: the focus is not a regular expression.
        """
        if self.trace.recording.is_profile:  # there are no operators to read
            return Findings(self.trace, CallingStructure(self.trace).result(), focus=asked.focus)
        types = [_NAMED.get(kind) if isinstance(kind, str) else kind for kind in kinds]
        chosen = [kind for kind in types if kind in PASSES and self._recorded(kind)]
        order = list(dict.fromkeys(_with_needs([Totals, *chosen])))
        for kind in order:
            key = _key(kind, asked)
            if PASSES[kind].watches:
                self._watch([each for each in order if self._can_watch(each, asked)], asked)
            elif key not in self._known:
                self._known[key] = self._made(kind, asked)
        found = [self._known[_key(kind, asked)] for kind in order]
        return Findings(self.trace, self._losses, *found, focus=asked.focus)

    def spent(self, by: str | None) -> type[Spent]:
        """The time by stack that a view shows: for "time" or None of the leading loop if there is one."""
        times = self.find((Calling, StepTimes)).get(StepTimes) if by in (None, "time") else None
        has_loop = times is not None and len(times.loops) > 0
        return LoopSpent if has_loop and self.find((LoopSpent,)).get(LoopSpent) is not None else RunSpent

    def _made(self, kind: type, asked: Asked) -> Any:
        """The watcher, or the finding, from the findings it needs, which are known."""
        needs = (self._known[_key(need, asked)] for need in PASSES[kind].needs)
        return PASSES[kind].make(self.trace, asked, *needs)

    def _can_watch(self, kind: type, asked: Asked) -> bool:
        """Whether this pass watches the operators, and what it needs is known."""
        needs = (_key(need, asked) in self._known for need in PASSES[kind].needs)
        return PASSES[kind].watches and all(needs)

    def _recorded(self, kind: type) -> bool:
        if kind is MemoryUse:
            return self.trace.memory is not None
        return kind not in _OF_GPUS or self.trace.gpu is not None

    def _watch(self, kinds: list[type], asked: Asked) -> None:
        """Read the operators for those of these passes that have not seen them yet."""
        keys = {kind: _key(kind, asked) for kind in kinds}
        watchers = {key: self._made(kind, asked) for kind, key in keys.items() if key not in self._known}
        if not watchers:
            return
        is_summed = any(PASSES[kind].sums_bytes for kind in kinds if keys[kind] in watchers)
        self._losses = read(self.trace, watchers.values(), is_summed)
        self._known |= {key: watcher.result() for key, watcher in watchers.items()}


def read(trace: Trace, watchers: Iterable[Watcher], with_memory: bool = True) -> Losses:
    """Show all operators to the watchers, and return the losses known after reading them.

    with_memory: see `Trace.operators`.

    Raises:
        InputError: the trace cannot be read.
    """
    losses: list[Losses] = []
    same_text = same_signatures(trace)
    for batch in trace.operators(losses, with_memory):
        batch = replace(batch, signature=same_text[batch.signature])  # noqa: PLW2901 (one row, one text)
        for watcher in watchers:
            watcher.add(batch)
    return Losses.concat([trace.recording[Losses], *losses])


def _with_needs(kinds: Iterable[type]) -> Iterator[type]:
    """Returns the findings in an order in which each comes after those that it needs."""
    for kind in kinds:
        yield from _with_needs(PASSES[kind].needs)
        yield kind


def _key(kind: type, asked: Asked) -> tuple[type, tuple[Any, ...]]:
    return kind, tuple(getattr(asked, name) for name in PASSES[kind].by)
