"""All sections of a report, in the order of `support.views`."""

from __future__ import annotations

from collections.abc import Sequence

from perfprobe.report.section.advice import ADVICE
from perfprobe.report.section.agreement import SOURCES
from perfprobe.report.section.benchmark import BENCHMARK
from perfprobe.report.section.between import BETWEEN
from perfprobe.report.section.block import Section
from perfprobe.report.section.children import CHILDREN
from perfprobe.report.section.counters import COUNTERS
from perfprobe.report.section.critical import CRITICAL_PATH
from perfprobe.report.section.described import described
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
from perfprobe.report.section.kept import SLOW_STEPS
from perfprobe.report.section.losses import LOSSES
from perfprobe.report.section.memory import MEMORY
from perfprobe.report.section.native import NATIVE
from perfprobe.report.section.peers.memory import PADDLE_MEMORY, TB_MEMORY
from perfprobe.report.section.peers.paddle import (
    PADDLE_DEVICE,
    PADDLE_MODEL,
    PADDLE_OPERATOR,
    PADDLE_OVERVIEW,
    PADDLE_PERF,
    PADDLE_USERDEFINED,
)
from perfprobe.report.section.peers.paddle_gpu import PADDLE_DISTRIBUTED, PADDLE_KERNEL
from perfprobe.report.section.peers.tensorboard import TB_MODULE, TB_OPERATOR
from perfprobe.report.section.peers.tensorboard_overview import TB_OVERVIEW
from perfprobe.report.section.ranges import RANGES
from perfprobe.report.section.ranks import RANKS
from perfprobe.report.section.start_up import START_UP
from perfprobe.report.section.steps import PHASES, STEPS
from perfprobe.report.section.summary import SUMMARY
from perfprobe.report.section.threads import THREADS
from perfprobe.report.section.workers import WORKERS
from perfprobe.support.views import PEER_VIEWS, SECTION_VIEWS

_OWN = {
    each.name: each
    for each in (
        SUMMARY,
        BENCHMARK,
        SLOW_STEPS,
        OPERATORS,
        EFFICIENCY,
        LINES,
        MODULES,
        STEPS,
        PHASES,
        START_UP,
        ADVICE,
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
        FUNCTIONS,
        BETWEEN,
        RANGES,
        RANKS,
        WORKERS,
        THREADS,
        NATIVE,
        COUNTERS,
        SOURCES,
        ENVIRONMENT,
        LOSSES,
        CHILDREN,
        PADDLE_PERF,
        PADDLE_OVERVIEW,
        PADDLE_MODEL,
        PADDLE_OPERATOR,
        PADDLE_USERDEFINED,
        PADDLE_DEVICE,
        PADDLE_KERNEL,
        PADDLE_DISTRIBUTED,
        PADDLE_MEMORY,
        TB_OVERVIEW,
        TB_OPERATOR,
        TB_MODULE,
        TB_MEMORY,
    )
}
SECTIONS = tuple(_OWN.get(name) or described(name) for name in SECTION_VIEWS)
# Sections that take long: they are computed and printed only if requested by name.
_BY_NAME = ("critical-path",)
# Tables of other profilers, which are printed only if requested by name too.
PEER_SECTIONS = tuple(_OWN[name] for name in PEER_VIEWS)


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
