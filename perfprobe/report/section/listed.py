"""All sections of a report, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.report.section.agreement import agreement, source_tables
from perfprobe.report.section.benchmark import BENCHMARK
from perfprobe.report.section.between import between, interval_tables
from perfprobe.report.section.block import Section
from perfprobe.report.section.children import child_recordings, child_tables
from perfprobe.report.section.counters import counter_tables, counters
from perfprobe.report.section.critical import CRITICAL_PATH
from perfprobe.report.section.efficiency import efficiency, measurement_tables
from perfprobe.report.section.environment import environment
from perfprobe.report.section.functions import function_tables, functions
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
from perfprobe.report.section.hot_lines import hot_lines, line_tables
from perfprobe.report.section.hot_modules import hot_modules, module_tables
from perfprobe.report.section.hot_operators import hot_operators, operator_tables
from perfprobe.report.section.kept import SLOW_STEPS
from perfprobe.report.section.losses import losses
from perfprobe.report.section.memory import MEMORY
from perfprobe.report.section.native import native, native_tables
from perfprobe.report.section.peers.memory import PADDLE_MEMORY, TB_MEMORY
from perfprobe.report.section.peers.paddle import (
    PADDLE_DEVICE,
    PADDLE_MODEL,
    PADDLE_OPERATOR,
    PADDLE_OVERVIEW,
    PADDLE_PERF,
    PADDLE_USERDEFINED,
)
from perfprobe.report.section.peers.tensorboard import TB_MODULE, TB_OPERATOR
from perfprobe.report.section.peers.tensorboard_overview import TB_OVERVIEW
from perfprobe.report.section.ranges import range_tables, ranges
from perfprobe.report.section.ranks import RANKS
from perfprobe.report.section.start_up import start_up, start_up_tables
from perfprobe.report.section.steps import phase_tables, phases, step_tables, steps
from perfprobe.report.section.summary import summary, totals_table
from perfprobe.report.section.threads import processor_tables, threads
from perfprobe.report.section.workers import WORKERS
from perfprobe.tables.between import Between
from perfprobe.tables.children import Children
from perfprobe.tables.counters import CounterFindings
from perfprobe.tables.events import Losses
from perfprobe.tables.findings import HotLines, HotModules, Hotspots
from perfprobe.tables.gpu_findings import GpuFindings
from perfprobe.tables.live_steps import Baseline
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.native_code import NativeSplit
from perfprobe.tables.processors import Processors
from perfprobe.tables.python import Calling
from perfprobe.tables.ranges import RangeRows
from perfprobe.tables.steps import StepTimes
from perfprobe.tables.teams import Teams

SECTIONS = (
    Section("summary", (), summary, totals_table, shows=(Hotspots, Calling, GpuFindings)),
    BENCHMARK,
    SLOW_STEPS,
    Section("operators", (Hotspots,), hot_operators, operator_tables),
    Section("efficiency", (Measurements,), efficiency, measurement_tables),
    Section("lines", (Hotspots, HotLines), hot_lines, line_tables),
    Section("modules", (Hotspots, HotModules), hot_modules, module_tables),
    Section("steps", (StepTimes,), steps, step_tables, shows=(GpuFindings, Baseline)),
    Section("phases", (StepTimes,), phases, phase_tables),
    Section("start-up", (StepTimes,), start_up, start_up_tables),
    MEMORY,
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
    Section("functions", (Calling,), functions, function_tables),
    Section("between", (Between,), between, interval_tables),
    Section("ranges", (Hotspots,), ranges, range_tables, shows=(RangeRows,)),
    RANKS,
    WORKERS,
    Section("threads", (Processors,), threads, processor_tables, shows=(Teams, NativeSplit)),
    Section("native", (NativeSplit,), native, native_tables),
    Section("counters", (CounterFindings,), counters, counter_tables),
    Section("sources", (), agreement, source_tables),
    Section("environment", (), environment),
    Section("losses", (Losses,), losses),
    Section("children", (Children,), child_recordings, child_tables),
)
# Sections that take long: they are computed and printed only if requested by name.
_BY_NAME = ("critical-path",)
# Tables of other profilers, which are printed only if requested by name too.
PEER_SECTIONS = (
    PADDLE_PERF,
    PADDLE_OVERVIEW,
    PADDLE_MODEL,
    PADDLE_OPERATOR,
    PADDLE_USERDEFINED,
    PADDLE_DEVICE,
    PADDLE_MEMORY,
    TB_OVERVIEW,
    TB_OPERATOR,
    TB_MODULE,
    TB_MEMORY,
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
