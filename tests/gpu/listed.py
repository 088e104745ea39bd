"""The checks, by group and in the order in which they run: the most important first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

GROUP_S = 570.0  # time of a group, including the build: on shared GPUs, a command may take ten minutes
BUILD_S = 90.0  # with 16 processors; also loads the disk cache


@dataclass(frozen=True)
class Check:
    """A check.

    Attributes:
        function: "module:function", called with a `child.Room` in its own process.
        limit_s: when it is killed.
        usual_s: its maximum time if nothing is wrong.
        gpu_for: what the stand-in for libcupti does not have; "" if the check also runs with that.
    """

    name: str
    function: str
    limit_s: float
    gpu_for: str = "a GPU"
    group: str = "A"
    usual_s: float = 10.0

    @property
    def with_standin(self) -> bool:
        """Whether it can also run without a GPU."""
        return not self.gpu_for


_TORCH = "kernels of torch"
_GRAPHS = "CUDA graphs of torch"
_TIMES = "a device that takes time"


def _group(group: str, *checks: tuple[str, str, float, str]) -> Iterator[Check]:
    """checks: module and name, usual seconds, why it needs a GPU. The limit leaves time for a cold disk."""
    for module, name, usual_s, gpu_for in checks:
        limit_s = min(max(60.0, 4 * usual_s), 240.0)
        yield Check(name, f"tests.gpu.{module}:{name}", limit_s, gpu_for, group, usual_s)


CHECKS: tuple[Check, ...] = (
    *_group(
        "A",
        ("wholes", "environment", 15, "what the machine is"),  # the first to load torch, from a cold disk
        ("exact", "spin_truth", 9, ""),
        ("exact", "monotonic_clock", 9, ""),
        ("links", "lines", 10, _TORCH),
        ("exact", "copies", 9, "memory of a GPU"),
        ("links", "thread_ids", 8, ""),
        ("exact", "counters", 9, ""),
        ("states", "states", 20, "NVML of a driver"),
        ("wholes", "fixtures", 20, ""),
        ("sessions", "three_sessions", 12, ""),
        ("sessions", "no_losses", 22, ""),
        ("links", "second_session", 12, _GRAPHS),
        ("links", "graph_replay", 10, _GRAPHS),
        ("sessions", "long_capture", 12, _GRAPHS),
        ("exact", "kineto_counts", 20, "records that Kineto sees too"),
        ("clients", "profiler_holds_cupti", 8, "Kineto's own client of CUPTI"),
        ("clients", "profiler_beside_us", 9, "Kineto's own client of CUPTI"),
        ("sessions", "after_profiler", 10, "Kineto's own client of CUPTI"),
        ("sessions", "quiet_without_gpu", 8, "a driver that says whether it was initialised"),
        ("clients", "buffer_delivery", 10, ""),
        ("sessions", "beyond_valid", 8, ""),
        ("strain", "pageable_wait", 12, ""),
        ("clients", "nvtx_ranges", 9, "a torch that sets NVTX ranges"),
        ("links", "external_ids", 25, _TORCH),
        ("clients", "ids_by_call_kind", 10, "calls of the runtime that are calls of the driver"),
        ("links", "triton", 10, "Triton and its compiler for GPUs"),
        ("links", "graph_before_session", 12, _GRAPHS),
        ("exact", "streams", 9, "streams of torch"),
        ("wholes", "ceilings", 9, _TIMES),
        ("wholes", "report", 16, _TORCH),
        ("wholes", "doctor", 14, "a GPU to be found"),
    ),
    *_group(
        "B",
        ("timing", "device_clock", 15, _TIMES),
        ("timing", "bench_on_gpu", 60, _TIMES),
        ("wholes", "machine_ceilings", 70, _TIMES),
        ("clients", "under_ncu", 60, "Nsight Compute"),
        ("wholes", "perf_events", 3, ""),
        ("wholes", "overhead", 150, "what launching costs, with Kineto beside it"),
    ),
    *_group(
        "C",
        ("strain", "launch_bound", 40, "what launching costs, with Kineto beside it"),
        ("strain", "storm", 50, ""),
        ("strain", "crowd", 12, ""),
        ("strain", "whole_step", 70, "autograd's kernels, pinned memory and torch.compile"),
        ("strain", "endings", 50, ""),
    ),
)
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(check.group for check in CHECKS))


def table() -> str:
    """Every check: its group, its time, and why it needs a GPU if the stand-in is not enough."""
    lines = []
    for group in GROUPS:
        own = [check for check in CHECKS if check.group == group]
        lines.append(f"group {group}: {BUILD_S + sum(check.usual_s for check in own):.0f} s with the build")
        for check in own:
            where = "runs against the stand-in" if check.with_standin else f"needs a GPU: {check.gpu_for}"
            lines.append(f"  {check.name:<22}{check.usual_s:5.0f} s  {where}")
    return "\n".join(lines)
