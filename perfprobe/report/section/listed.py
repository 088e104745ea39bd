"""All sections of a report, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.report.section.agreement import SOURCES
from perfprobe.report.section.benchmark import benchmark, benchmark_tables
from perfprobe.report.section.between import BETWEEN
from perfprobe.report.section.block import Section
from perfprobe.report.section.children import CHILDREN
from perfprobe.report.section.counters import COUNTERS
from perfprobe.report.section.critical import CRITICAL_PATH
from perfprobe.report.section.efficiency import EFFICIENCY
from perfprobe.report.section.environment import ENVIRONMENT
from perfprobe.report.section.functions import FUNCTIONS
from perfprobe.report.section.gpu.calls import CUDA_CALLS
from perfprobe.report.section.gpu.copies import COPIES
from perfprobe.report.section.gpu.device_memory import GPU_MEMORY
from perfprobe.report.section.gpu.devices import GPUS
from perfprobe.report.section.gpu.idle import IDLE
from perfprobe.report.section.gpu.kernels import KERNELS
from perfprobe.report.section.gpu.launches import LAUNCHES
from perfprobe.report.section.gpu.overlap import OVERLAP
from perfprobe.report.section.gpu.sequences import SEQUENCES
from perfprobe.report.section.gpu.states import GPU_STATE
from perfprobe.report.section.gpu.use import GPU_USE
from perfprobe.report.section.gpu.waits import WAITS
from perfprobe.report.section.hot_lines import LINES
from perfprobe.report.section.hot_modules import MODULES
from perfprobe.report.section.hot_operators import OPERATORS
from perfprobe.report.section.kept import slow_step_tables, slow_steps
from perfprobe.report.section.losses import LOSSES
from perfprobe.report.section.memory import memory, memory_tables
from perfprobe.report.section.native import NATIVE
from perfprobe.report.section.peers import memory as peers_memory
from perfprobe.report.section.peers import paddle, tensorboard
from perfprobe.report.section.ranges import RANGES
from perfprobe.report.section.ranks import rank_tables, ranks
from perfprobe.report.section.start_up import START_UP
from perfprobe.report.section.steps import PHASES, STEPS
from perfprobe.report.section.summary import SUMMARY
from perfprobe.report.section.threads import THREADS
from perfprobe.report.section.workers import worker_tables, workers
from perfprobe.tables.findings import HotModules, Hotspots, Totals
from perfprobe.tables.gpu_use import GpuUse
from perfprobe.tables.kept import KeptRun
from perfprobe.tables.live_steps import Baseline, Benchmark
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.peers import PeerTimes
from perfprobe.tables.processors import Processors
from perfprobe.tables.ranks import Ranks
from perfprobe.tables.teams import WorkerTeams
from perfprobe.tables.workers import Feeding

SECTIONS = (
    SUMMARY,
    Section("benchmark", (Benchmark,), benchmark, benchmark_tables),
    Section("slow-steps", (KeptRun,), slow_steps, slow_step_tables, shows=(Baseline, Totals)),
    OPERATORS,
    EFFICIENCY,
    LINES,
    MODULES,
    STEPS,
    PHASES,
    START_UP,
    Section("memory", (MemoryUse,), memory, memory_tables),
    GPU_MEMORY,
    GPUS,
    GPU_USE,
    GPU_STATE,
    IDLE,
    OVERLAP,
    KERNELS,
    COPIES,
    WAITS,
    CUDA_CALLS,
    LAUNCHES,
    SEQUENCES,
    CRITICAL_PATH,
    FUNCTIONS,
    BETWEEN,
    RANGES,
    Section("ranks", (Ranks,), ranks, rank_tables),
    Section("workers", (Feeding,), workers, worker_tables, shows=(WorkerTeams,)),
    THREADS,
    NATIVE,
    COUNTERS,
    SOURCES,
    ENVIRONMENT,
    LOSSES,
    CHILDREN,
)
# Sections that take long: they are computed and printed only if requested by name.
_BY_NAME = ("critical-path",)
# Tables of other profilers, which are printed only if requested by name too.
PEER_SECTIONS = (
    Section("paddle.perf", (PeerTimes,), paddle.perf, paddle.perf_tables),
    Section("paddle.overview", (PeerTimes,), paddle.overview, paddle.overview_tables),
    Section("paddle.model", (PeerTimes,), paddle.model, paddle.model_tables),
    Section("paddle.operator", (PeerTimes,), paddle.operators, paddle.operator_tables),
    Section("paddle.userdefined", (PeerTimes,), paddle.userdefined, paddle.userdefined_tables),
    Section("paddle.device", (), paddle.device, paddle.device_tables, shows=(Processors, PeerTimes)),
    Section("paddle.memory", (MemoryUse,), peers_memory.paddle_memory, peers_memory.paddle_memory_tables),
    Section("tb.overview", (PeerTimes,), tensorboard.overview, tensorboard.overview_tables, (GpuUse,)),
    Section("tb.operator", (Hotspots,), tensorboard.operators, tensorboard.operator_tables, (PeerTimes,)),
    Section(
        "tb.module", (Hotspots, HotModules), tensorboard.modules, tensorboard.module_tables, (PeerTimes,)
    ),
    Section(
        "tb.memory", (MemoryUse,), peers_memory.tensorboard_memory, peers_memory.tensorboard_memory_tables
    ),
)


def peers(view: str | None) -> tuple[Section, ...]:
    """The section of this name, if it is one of those that are printed only on request."""
    by_name = (*PEER_SECTIONS, *(section for section in SECTIONS if section.name in _BY_NAME))
    return tuple(section for section in by_name if section.name == view)


def chosen(view: str | None) -> tuple[Section, ...]:
    """The section of this name, one of `support.view.VIEWS`; for None all that are printed by default."""
    if view is None:
        return tuple(section for section in SECTIONS if section.name not in _BY_NAME)
    return peers(view) or tuple(section for section in SECTIONS if section.name == view)


def kinds_of(sections: Sequence[Section]) -> tuple[type | str, ...]:
    """The findings that these sections require or show."""
    return tuple(dict.fromkeys(kind for each in sections for kind in (*each.requires, *each.shows)))


KINDS = kinds_of(chosen(None))
