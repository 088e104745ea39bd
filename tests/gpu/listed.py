"""The checks, in the order they run: what is needed most comes first, should the time not suffice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """function: "module:function", called with a `child.Room` in a process of its own."""

    name: str
    function: str
    limit_s: float
    with_standin: bool = False  # whether it can also run without a GPU, against the stand-in for libcupti


def _check(module: str, name: str, limit_s: float = 60.0, *, with_standin: bool = False) -> Check:
    return Check(name, f"tests.gpu.{module}:{name}", limit_s, with_standin)


CHECKS: tuple[Check, ...] = (
    _check("wholes", "environment", 120),  # the first to load torch, from a cold disk
    _check("exact", "spin_truth", with_standin=True),
    _check("exact", "monotonic_clock", with_standin=True),
    _check("links", "lines"),
    _check("exact", "copies"),
    _check("links", "thread_ids", with_standin=True),
    _check("exact", "counters", with_standin=True),
    _check("wholes", "fixtures", 150, with_standin=True),
    _check("links", "second_session"),
    _check("links", "graph_replay"),
    _check("exact", "kineto_counts", 110),
    _check("clients", "profiler_holds_cupti"),
    _check("clients", "profiler_beside_us"),
    _check("clients", "buffer_delivery"),
    _check("clients", "nvtx_ranges"),
    _check("links", "external_ids", 150),
    _check("clients", "ids_by_call_kind"),
    _check("links", "triton"),
    _check("links", "graph_before_session"),
    _check("exact", "streams"),
    _check("wholes", "ceilings"),
    _check("wholes", "machine_ceilings", 120),
    _check("wholes", "report", 90),
    _check("wholes", "doctor"),
    _check("wholes", "perf_events", with_standin=True),
    _check("wholes", "pytest_gpu", 120),
    _check("clients", "under_ncu", 120),
    _check("wholes", "overhead", 180),
)
