"""The passes over a recording and what lies beside it. Each is requested by the type of its finding."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from perfprobe.analyse.account.account import account
from perfprobe.analyse.account.looks import Looks, looks_of
from perfprobe.analyse.account.watch import AccountWatch, Watched
from perfprobe.analyse.baseline import baseline
from perfprobe.analyse.beside import Rotated, Together, WorkerRecordings
from perfprobe.analyse.between import BetweenOperators
from perfprobe.analyse.call_structure import CallStructureWatch
from perfprobe.analyse.hot_modules import hot_modules
from perfprobe.analyse.hotspots import hotspots
from perfprobe.analyse.idle.blame import BlamedIdle
from perfprobe.analyse.joins import InWorkers, in_workers, kept_run, of_workers, ranks
from perfprobe.analyse.operator_rows import OperatorRows, RowsOfOperators
from perfprobe.analyse.processors import processors
from perfprobe.analyse.step_rows import OfSteps, RowsInSteps, SitesInSteps, StepSites, step_hotspots
from perfprobe.analyse.steps import StepWatch
from perfprobe.analyse.teams.operators import OperatorActivity, TeamWatch
from perfprobe.analyse.teams.teams import teams
from perfprobe.analyse.tensor_cores import TensorCores, tensor_cores
from perfprobe.analyse.tests import tests
from perfprobe.analyse.totals import SumsOfAll
from perfprobe.analyse.trends import trends
from perfprobe.analyse.unused_forward import UnusedForwardWatch
from perfprobe.tables.account import Account
from perfprobe.tables.between import Between
from perfprobe.tables.children import Children
from perfprobe.tables.columns import Table
from perfprobe.tables.compilations import Compilations
from perfprobe.tables.counters import CounterFindings
from perfprobe.tables.critical import CriticalPath
from perfprobe.tables.device_account import DeviceAccount
from perfprobe.tables.device_memory import DeviceMemory
from perfprobe.tables.events import LinkedOperators
from perfprobe.tables.findings import HotLines, HotModules, Hotspots, LibraryLines, Totals
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.gpu_states import DeviceStates
from perfprobe.tables.gpu_use import GpuUse, StepMarks
from perfprobe.tables.idle import IdleTimes
from perfprobe.tables.kept import KeptPart, KeptRun
from perfprobe.tables.launch_times import LaunchTimes
from perfprobe.tables.live_steps import Baseline, Benchmark
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.modes import Modes
from perfprobe.tables.native_code import NativeSplit
from perfprobe.tables.peers import PeerTimes
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import CallStructure
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.ranks import RankParts, Ranks
from perfprobe.tables.run_parts import RunParts
from perfprobe.tables.run_value import RunValue
from perfprobe.tables.sequences import Sequences
from perfprobe.tables.spent import LoopSpent, RunSpent
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.teams import Teams, WorkerTeams
from perfprobe.tables.tests import Tests
from perfprobe.tables.trends import Trends
from perfprobe.tables.tries import Tries
from perfprobe.tables.unused_forward import UnusedForward
from perfprobe.tables.workers import LoaderWaits, WorkerFindings
from perfprobe.tables.wrappers import WrapperSpans


def _later(module: str, name: str) -> Callable[..., Any]:
    """A pass whose module is imported when it is first made: many are not needed for a first screen."""

    def make(*given: Any) -> Any:
        return getattr(import_module(module), name)(*given)

    return make


if TYPE_CHECKING:
    from perfprobe.analyse.account.device import device_account
    from perfprobe.analyse.benchmark import benchmark
    from perfprobe.analyse.comparing.run_parts import run_parts
    from perfprobe.analyse.compilations import compilations
    from perfprobe.analyse.counts import CountWatch
    from perfprobe.analyse.critical.watch import CriticalWatch
    from perfprobe.analyse.device_memory import device_memory
    from perfprobe.analyse.gpu import gpu_findings
    from perfprobe.analyse.gpu_states import device_states
    from perfprobe.analyse.gpu_use import gpu_use
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
    from perfprobe.analyse.ranks.parts import RankWatch
    from perfprobe.analyse.run_value import run_value
    from perfprobe.analyse.sequences import sequences
    from perfprobe.analyse.spent.in_loop import loop_spent
    from perfprobe.analyse.spent.in_run import run_spent
    from perfprobe.analyse.tries import tries
    from perfprobe.analyse.wrappers import WrapperWatch
else:
    device_account = _later("perfprobe.analyse.account.device", "device_account")
    benchmark = _later("perfprobe.analyse.benchmark", "benchmark")
    compilations = _later("perfprobe.analyse.compilations", "compilations")
    CountWatch = _later("perfprobe.analyse.counts", "CountWatch")
    CriticalWatch = _later("perfprobe.analyse.critical.watch", "CriticalWatch")
    device_memory = _later("perfprobe.analyse.device_memory", "device_memory")
    gpu_findings = _later("perfprobe.analyse.gpu", "gpu_findings")
    device_states = _later("perfprobe.analyse.gpu_states", "device_states")
    gpu_use = _later("perfprobe.analyse.gpu_use", "gpu_use")
    idle_times = _later("perfprobe.analyse.idle.summed", "idle_times")
    KeptWatch = _later("perfprobe.analyse.kept.part", "KeptWatch")
    launch_times = _later("perfprobe.analyse.launched", "launch_times")
    LinesOfLibraries = _later("perfprobe.analyse.library_lines", "LinesOfLibraries")
    lines = _later("perfprobe.analyse.lines", "lines")
    WaitsForLoaders = _later("perfprobe.analyse.loader_waits", "WaitsForLoaders")
    MemoryWatch = _later("perfprobe.analyse.memory.watch", "MemoryWatch")
    modes = _later("perfprobe.analyse.modes", "modes")
    named_ranges = _later("perfprobe.analyse.named_ranges", "named_ranges")
    NativeWatch = _later("perfprobe.analyse.native_split", "NativeWatch")
    MarkWatch = _later("perfprobe.analyse.peers.plugin_steps", "MarkWatch")
    PeerWatch = _later("perfprobe.analyse.peers.watch", "PeerWatch")
    RankWatch = _later("perfprobe.analyse.ranks.parts", "RankWatch")
    run_parts = _later("perfprobe.analyse.comparing.run_parts", "run_parts")
    run_value = _later("perfprobe.analyse.run_value", "run_value")
    sequences = _later("perfprobe.analyse.sequences", "sequences")
    loop_spent = _later("perfprobe.analyse.spent.in_loop", "loop_spent")
    run_spent = _later("perfprobe.analyse.spent.in_run", "run_spent")
    tries = _later("perfprobe.analyse.tries", "tries")
    WrapperWatch = _later("perfprobe.analyse.wrappers", "WrapperWatch")


class Asked(NamedTuple):
    """Options of a view that change what passes compute.

    group: how operators are grouped, one of `support.view.GROUPS`. focus: a regular expression. work: whether
    to compute FLOPs. package: the library whose lines are shown, see `LinesOfLibraries`. together: whether a
    view of several recordings was asked for, also if there is only one.
    """

    group: str = "row"
    focus: str | None = None
    work: bool = False
    package: str | None = None
    together: bool = False


class Watcher(Protocol):
    """A pass that sees all operators. They are read once for all such passes."""

    def add(self, batch: LinkedOperators) -> None:
        """The next batch, as `Trace.operators` yields it, but with one id for equal texts of signatures."""

    def result(self) -> Any:
        """The finding; None if nothing of it was recorded."""


class Pass(NamedTuple):
    """How a finding is made.

    make: with `watches`, a function that makes the watcher, otherwise one that makes the finding, or `Partly`
    if something is missing. Its arguments are the trace, `Asked`, and what is in `needs`: findings, or types
    in `BESIDE`. A watcher that needs findings costs one more reading of all operators. by: the fields of
    `Asked` on which the finding depends. sums_bytes: whether the watcher sums what operators allocated and
    freed.
    """

    make: Callable[..., Any]
    needs: tuple[type, ...] = ()
    watches: bool = False
    by: tuple[str, ...] = ()
    sums_bytes: bool = False


# What a `runs.Run` has beside its recording. A pass that needs one of them is made only if it is there.
BESIDE = (Measurements, Children, WorkerRecordings, Together, Rotated)
Beside: TypeAlias = Callable[[type, Asked], Any]  # returns one of them, None if it is not there, or `Partly`

_BY_ROWS = ("group", "focus")

PASSES: dict[type, Pass] = {
    **{kind: Pass(lambda trace, asked: None) for kind in BESIDE},
    Totals: Pass(lambda trace, asked: SumsOfAll(), watches=True),
    OperatorRows: Pass(
        lambda trace, asked: RowsOfOperators(trace, asked.group, asked.focus),
        watches=True,
        by=_BY_ROWS,
        sums_bytes=True,
    ),
    Between: Pass(lambda trace, asked: BetweenOperators(trace), watches=True),
    CallStructure: Pass(lambda trace, asked: CallStructureWatch(trace), watches=True),
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
    Account: Pass(
        lambda trace, asked, *needs: account(trace, *needs), needs=(StepTimes, Watched, Looks, Processors)
    ),
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
    RunSpent: Pass(lambda trace, asked, structure: run_spent(trace, structure), needs=(CallStructure,)),
    RunParts: Pass(
        lambda trace, asked, *needs: run_parts(trace, *needs),
        needs=(StepTimes, Account, StepSites, OfSteps),
    ),
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
    TensorCores: Pass(lambda trace, asked: tensor_cores(trace)),
    Tests: Pass(lambda trace, asked, structure: tests(trace, structure), needs=(CallStructure,)),
    Tries: Pass(lambda trace, asked: tries(trace)),
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
    RunValue: Pass(lambda trace, asked, times: run_value(trace, times), needs=(StepTimes,)),
    Benchmark: Pass(lambda trace, asked: benchmark(trace)),
    Baseline: Pass(lambda trace, asked: baseline(trace)),
    KeptPart: Pass(lambda trace, asked, times: KeptWatch(trace, times), needs=(StepTimes,), watches=True),
    InWorkers: Pass(lambda trace, asked, workers: in_workers(workers), needs=(WorkerRecordings,)),
    WorkerFindings: Pass(
        lambda trace, asked, *needs: of_workers(trace, *needs),
        needs=(WorkerRecordings, InWorkers, LoaderWaits),
    ),
    WorkerTeams: Pass(
        lambda trace, asked, inside: None if inside is None else inside.teams, needs=(InWorkers,)
    ),
    Ranks: Pass(lambda trace, asked, together: ranks(together), needs=(Together,)),
    KeptRun: Pass(lambda trace, asked, rotated: kept_run(rotated), needs=(Rotated,)),
}

# Tables with a name, which are declared beside their pass and shown as they are by the section of that name.
SHOWN = tuple(kind for kind in PASSES if issubclass(kind, Table) and kind.table_name)

# Made only if a GPU was recorded.
OF_GPUS = (DeviceAccount, GpuFindings, GpuUse, IdleTimes, LaunchTimes, Sequences, TensorCores)
