"""Rows of the summaries of Paddle's profiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from perfprobe.report.rows.row import measured, named, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.peers import ON_GPU, PeerCalls, PeerPhase, PeerPhases, PeerTimes, PeerType
from perfprobe.tables.processors import Processors, ProcessorTimes
from perfprobe.tables.strings import Strings

_TYPE_TEXTS = {
    PeerType.PROFILE_STEP: "ProfileStep",
    PeerType.DATALOADER: "Dataloader",
    PeerType.FORWARD: "Forward",
    PeerType.BACKWARD: "Backward",
    PeerType.OPTIMIZATION: "Optimization",
    PeerType.OPERATOR: "Operator",
    PeerType.OPERATOR_INNER: "OperatorInner",
    PeerType.USER_DEFINED: "UserDefined",
    PeerType.CUDA_RUNTIME: "CudaRuntime",
    PeerType.KERNEL: "Kernel",
    PeerType.MEMCPY: "Memcpy",
    PeerType.MEMSET: "Memset",
    PeerType.COMMUNICATION: "Communication",
}
_OTHERS = "Others"


@frozen(kw_only=True)
class OverviewRow:
    """A type of events. time_ns: how long at least one was running. ratio: to the steps' time.

    on_gpu: 1 for GPUs.
    """

    type: str
    on_gpu: bool
    calls: int
    time_ns: int
    ratio: float


@frozen(kw_only=True)
class SummaryRow:
    """Calls of one name. Times are wall time; on a GPU the sum of launched work; None if not recorded.

    within: the operator around them, for rows shown below it. cpu_ratio, gpu_ratio: for phases and ranges the
    ratio to the steps' time, for operators to that of all operators, for calls within one to that operator.
    """

    name: str
    within: str | None = None
    calls: int | None
    cpu_total_ns: int
    cpu_avg_ns: float | None
    cpu_max_ns: int | None
    cpu_min_ns: int | None
    cpu_ratio: float | None
    gpu_total_ns: int | None
    gpu_avg_ns: float | None
    gpu_max_ns: int | None
    gpu_min_ns: int | None
    gpu_ratio: float | None


@frozen(kw_only=True)
class PerfRow:
    """The cost of a step in ns, or its rate per second; None if not known for every step."""

    name: str
    avg: float | None
    max: float | None
    min: float | None


@frozen(kw_only=True)
class DeviceRow:
    """The utilisation of a device; it may be above 1 with several processors."""

    device: str
    utilization: float


@frozen(kw_only=True)
class KernelRow:
    """A kernel. gpu_ratio: to the time of all kernels."""

    name: str
    calls: int
    gpu_total_ns: int
    gpu_avg_ns: float
    gpu_max_ns: int
    gpu_min_ns: int
    gpu_ratio: float | None


@frozen(kw_only=True)
class DistributionRow:
    """The steps, or how long something was open in them. ratio: to the steps' time."""

    name: str
    time_ns: int
    ratio: float | None


def kernel_rows(findings: Findings, top: int) -> list[KernelRow]:
    """The first `top` kernels, 0 for all, most time first."""
    table, strings = findings[PeerTimes].kernels, findings.trace.recording[Strings]
    whole_ns = int(table.total_ns.sum())
    return [
        KernelRow(
            name=strings[value["name"]],
            calls=value["calls"],
            gpu_total_ns=value["total_ns"],
            gpu_avg_ns=value["total_ns"] / value["calls"],
            gpu_max_ns=value["most_ns"],
            gpu_min_ns=value["least_ns"],
            gpu_ratio=_ratio(value["total_ns"], whole_ns),
        )
        for value in values(table.take(slice(0, top or None)))
    ]


def distribution_rows(findings: Findings) -> list[DistributionRow]:
    """The steps, communication, computation and overlap; none if nothing communicated."""
    times = findings[PeerTimes]
    found, whole_ns = times.distribution, _steps_ns(times)
    if found is None:
        return []
    parts = {
        _TYPE_TEXTS[PeerType.PROFILE_STEP]: whole_ns,
        _TYPE_TEXTS[PeerType.COMMUNICATION]: found.communication_ns,
        "Computation": found.computation_ns,
        "Overlap": found.overlap_ns,
    }
    return [
        DistributionRow(name=name, time_ns=time_ns, ratio=_ratio(time_ns, whole_ns))
        for name, time_ns in parts.items()
    ]


def perf_rows(findings: Findings) -> list[PerfRow]:
    """`reader_cost` if there is a loader, `batch_cost`, and `ips`, whose maximum is of the shortest step."""
    phases = findings[PeerTimes].phases
    found = {PeerPhase(value["phase"]): value for value in values(phases)}
    step, reader = found[PeerPhase.PROFILE_STEP], found.get(PeerPhase.DATALOADER)
    steps = step["calls"]
    costs = [] if reader is None else [_cost("reader_cost", reader, steps)]
    batch = _cost("batch_cost", step, steps)
    ips = PerfRow(name="ips", avg=_ips(batch.avg), max=_ips(batch.min), min=_ips(batch.max))
    return [*costs, batch, ips]


def _cost(name: str, value: Mapping[str, int], steps: int) -> PerfRow:
    """The mean over steps; the longest and the shortest only if every step has one."""
    each = (value["most_ns"], value["least_ns"]) if value["calls"] == steps else (None, None)
    return PerfRow(name=name, avg=value["total_ns"] / max(steps, 1), max=each[0], min=each[1])


def _ips(time_ns: float | None) -> float | None:
    return 1e9 / time_ns if time_ns else None


def overview_rows(findings: Findings) -> list[OverviewRow]:
    """The steps, then types on the host, then types on GPUs; most time first in each."""
    times = findings[PeerTimes]
    whole_ns = max(_steps_ns(times), 1)
    rows = [
        OverviewRow(
            type=_TYPE_TEXTS[PeerType(value["type"])],
            on_gpu=value["type"] in ON_GPU,
            calls=value["calls"],
            time_ns=value["open_ns"],
            ratio=value["open_ns"] / whole_ns,
        )
        for value in values(times.types)
    ]
    step = _TYPE_TEXTS[PeerType.PROFILE_STEP]
    return sorted(rows, key=lambda row: (row.on_gpu, row.type != step, -row.time_ns))


def model_rows(findings: Findings) -> list[SummaryRow]:
    """The steps, their phases, and the time outside of phases."""
    phases = findings[PeerTimes].phases
    found = {PeerPhase(value["phase"]): value for value in values(phases)}
    step = found[PeerPhase.PROFILE_STEP]
    rows = [
        _summary(_TYPE_TEXTS[PeerType(phase)], value, step["total_ns"], step["gpu_ns"])
        for phase, value in found.items()
    ]
    return [*rows, _others(phases, step)]


def _others(phases: PeerPhases, step: Mapping[str, int]) -> SummaryRow:
    inner = phases.take(phases.phase != PeerPhase.PROFILE_STEP)
    rest_ns = step["total_ns"] - int(inner.total_ns.sum())
    gpu_ns = None if step["gpu_ns"] < 0 else step["gpu_ns"] - int(inner.gpu_ns.sum())
    none = dict.fromkeys(("calls", *(f"{who}_{what}_ns" for who in ("cpu", "gpu") for what in _EACH)))
    return SummaryRow(
        name=_OTHERS,
        cpu_total_ns=rest_ns,
        cpu_ratio=_ratio(rest_ns, step["total_ns"]),
        gpu_total_ns=gpu_ns,
        gpu_ratio=_ratio(gpu_ns, step["gpu_ns"]),
        **none,
    )


_EACH = ("avg", "max", "min")


def operator_rows(findings: Findings, top: int, sort: str) -> list[SummaryRow]:
    """The first `top` operators, 0 for all, each followed by what ran directly within it.

    sort: one of `support.view.SORTS` or `PEER_ONLY_SORTS`. For a minimum the smallest come first.
    """
    table = findings[PeerTimes].operators
    outer = table.take(table.within < 0)
    inner: dict[int, list[dict[str, int]]] = {}
    for value in values(table.take(table.within >= 0)):
        inner.setdefault(value["within"], []).append(value)
    name_of = findings.trace.recording[Strings]
    whole_ns, whole_gpu_ns = int(outer.total_ns.sum()), int(np.maximum(outer.gpu_ns, 0).sum())
    rows = []
    for value in values(ranked(outer, sort, top)):
        name = name_of[value["name"]]
        rows.append(_summary(name, value, whole_ns, whole_gpu_ns))
        for part in inner.get(value["name"], []):
            text = name_of[part["name"]]
            rows.append(_summary(text, part, value["total_ns"], value["gpu_ns"], within=name))
    return rows


def userdefined_rows(findings: Findings, top: int, sort: str) -> list[SummaryRow]:
    """The program's own ranges; ratios are of the steps."""
    times, strings = findings[PeerTimes], findings.trace.recording[Strings]
    gpu_ns = int(times.phases.gpu_ns[0])
    return [
        _summary(strings[value["name"]], value, _steps_ns(times), gpu_ns)
        for value in values(ranked(times.ranges, sort, top))
    ]


def ranked(rows: PeerCalls, sort: str, top: int) -> PeerCalls:
    """The first `top` rows, 0 for all, in Paddle's order."""
    calls = np.maximum(rows.calls, 1)
    keys = {
        "calls": -rows.calls,
        "mean": -rows.total_ns / calls,
        "max": -rows.most_ns,
        "min": rows.least_ns,
        "gpu": -rows.gpu_ns,
        "gpu-total": -rows.gpu_ns,
        "gpu-mean": -rows.gpu_ns / calls,
        "gpu-max": -rows.gpu_most_ns,
        "gpu-min": rows.gpu_least_ns,
    }
    order = np.argsort(keys.get(sort, -rows.total_ns), kind="stable")
    return rows.take(order[: top or len(order)])


def device_rows(findings: Findings) -> list[DeviceRow]:
    """Rows for process and system, if they were read, and for GPUs."""
    return [*_processors(findings), *_gpus(findings)]


def _processors(findings: Findings) -> Iterator[DeviceRow]:
    found = findings.get(Processors)
    if found is None:
        return
    yield DeviceRow(device="CPU(Process)", utilization=found.used_cores)
    readings = findings.trace.recording[ProcessorTimes]
    readings = readings.take(readings.busy_ns >= 0)
    readings = readings.take(np.argsort(readings.time_ns, kind="stable"))
    if len(readings) < 2:
        return
    could_ns = np.diff(readings.time_ns) * np.maximum(readings.processors[1:], 1)
    busy_ns = np.diff(readings.busy_ns)
    if could_ns.sum() > 0:
        yield DeviceRow(device="CPU(System)", utilization=float(busy_ns.sum() / could_ns.sum()))


def _gpus(findings: Findings) -> Iterator[DeviceRow]:
    times = findings.get(PeerTimes)
    if times is None:
        return
    for device, busy_ns in times.busy_ns.items():
        yield DeviceRow(device=f"GPU{device}", utilization=busy_ns / max(_steps_ns(times), 1))


def _summary(
    name: str, value: Mapping[str, Any], whole_ns: int, whole_gpu_ns: int, within: str | None = None
) -> SummaryRow:
    calls, gpu_ns = value["calls"], measured(value["gpu_ns"])
    return SummaryRow(
        name=name,
        within=named(within or ""),
        calls=calls,
        cpu_total_ns=value["total_ns"],
        cpu_avg_ns=value["total_ns"] / max(calls, 1),
        cpu_max_ns=value["most_ns"],
        cpu_min_ns=value["least_ns"],
        cpu_ratio=_ratio(value["total_ns"], whole_ns),
        gpu_total_ns=gpu_ns,
        gpu_avg_ns=None if gpu_ns is None else gpu_ns / max(calls, 1),
        gpu_max_ns=measured(value["gpu_most_ns"]),
        gpu_min_ns=measured(value["gpu_least_ns"]),
        gpu_ratio=_ratio(gpu_ns, whole_gpu_ns),
    )


def _ratio(part_ns: int | None, whole_ns: int) -> float | None:
    return part_ns / whole_ns if part_ns is not None and whole_ns > 0 else None


def _steps_ns(times: PeerTimes) -> int:
    return int((times.steps.end_ns - times.steps.start_ns).sum())
