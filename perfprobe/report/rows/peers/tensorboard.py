"""Rows of the TensorBoard plugin's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfprobe.report.rows.gpu.use import UseRow, use_rows
from perfprobe.report.rows.row import values
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings, HotModules, Hotspots, Sums
from perfprobe.tables.gpu_use import GpuUse
from perfprobe.tables.peers import PeerTimes, Role
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

_ROLE_TEXTS = {
    Role.KERNEL: "Kernel",
    Role.MEMCPY: "Memcpy",
    Role.MEMSET: "Memset",
    Role.COMMUNICATION: "Communication",
    Role.RUNTIME: "Runtime",
    Role.DATALOADER: "DataLoader",
    Role.CPU_EXEC: "CPU Exec",
    Role.OTHER: "Other",
}
_OF_MODULES = ("calls", "self_ns", "gpu_self_ns")
_SORTED_BY = {"total": "host_total_ns", "calls": "calls", "gpu": "device_self_ns"}
_SORTED_BY |= {"gpu-total": "device_total_ns"}


@frozen(kw_only=True)
class RoleRow:
    """The time of a category in a step.

    step: the profiler's number; without a profiler as in `steps`; 0 if all operators are one step; None for
    the average.
    """

    step: int | None
    category: str
    time_ns: float
    percentage: float


@frozen(kw_only=True)
class SummaryRow:
    """A GPU in the plugin's GPU Summary. Shares are from 0 to 1, None if not known."""

    gpu: int
    name: str | None
    memory_bytes: int | None
    compute_capability: str | None
    gpu_utilization: float | None
    est_sm_efficiency: float | None
    est_achieved_occupancy: float | None
    kernel_time_using_tensor_cores: float | None


@frozen(kw_only=True)
class OperatorRow:
    """Operators of one name, and of one signature if requested. Times on GPUs are None without a GPU.

    host_self_ns: without nested operators, and without calls of CUDA.
    """

    name: str
    input_shape: str | None
    calls: int
    device_self_ns: int | None
    device_total_ns: int | None
    host_self_ns: int
    host_total_ns: int


@frozen(kw_only=True)
class ModuleRow:
    """A module, or its backward.

    occurrences: number of calls, known from traces of torch.profiler with Python calls only.
    least_occurrences: how many calls there were at least. A run of perfprobe does not record calls of
    modules: those that follow each other without an operator outside of the module look like one.
    host_total_ns: time of its operators and its children's. host_self_ns: time of its own operators.
    """

    name: str
    occurrences: int | None
    least_occurrences: int | None
    operators: int
    host_total_ns: int
    host_self_ns: int
    device_total_ns: int | None
    device_self_ns: int | None


def role_rows(findings: Findings) -> list[RoleRow]:
    """The average of all steps, then step by step."""
    roles, number = findings[PeerTimes].roles, findings[PeerTimes].plugin_steps.number.tolist()
    by_step: dict[int | None, list[tuple[int, float]]] = {None: []}
    for value in values(roles):
        by_step.setdefault(max(number[value["step"]], 0), []).append((value["role"], value["time_ns"]))
    sums = {role: int(roles.time_ns[roles.role == role].sum()) for role in dict.fromkeys(roles.role.tolist())}
    by_step[None] = [(role, time_ns / len(number)) for role, time_ns in sums.items()]
    rows = []
    for step, times_ns in by_step.items():
        whole_ns = max(sum(time_ns for _, time_ns in times_ns), 1)
        for role, time_ns in times_ns:
            text, share = _ROLE_TEXTS[Role(role)], time_ns / whole_ns
            rows.append(RoleRow(step=step, category=text, time_ns=time_ns, percentage=share))
    return rows


def summary_rows(findings: Findings) -> list[SummaryRow]:
    """A row for each GPU, ordered by number."""
    if findings.get(GpuUse) is None:
        return []
    known = findings.trace.recording.fact("gpu", "devices")
    recorded = dict(enumerate(known)) if isinstance(known, list) else {}
    return [_summary(row, recorded.get(row.device)) for row in use_rows(findings)]


def _summary(row: UseRow, recorded: Any) -> SummaryRow:
    facts = recorded if isinstance(recorded, Mapping) else {}
    name, size = facts.get("name"), facts.get("memory_bytes")
    major, minor = facts.get("compute_major"), facts.get("compute_minor")
    is_known = type(major) is int and type(minor) is int
    return SummaryRow(
        gpu=row.device,
        name=name if isinstance(name, str) else None,
        memory_bytes=size if type(size) is int else None,
        compute_capability=f"{major}.{minor}" if is_known else None,
        gpu_utilization=row.utilization,
        est_sm_efficiency=row.sm_efficiency,
        est_achieved_occupancy=row.plugin_occupancy,
        kernel_time_using_tensor_cores=row.plugin_tensor_cores,
    )


def operator_rows(findings: Findings, top: int, sort: str) -> list[OperatorRow]:
    """The first `top` operators, 0 for all; one row for each input shape if findings are grouped by
    signature.

    sort: one of `support.view.SORTS`; by host self time if these rows do not have that figure.
    """
    rows, trace, group = findings[Hotspots].ungrouped, findings.trace, findings[Hotspots].group
    runtime = _runtime_ns(findings, group)
    name_of = trace.recording[Strings]
    found = [
        OperatorRow(
            name=name_of[name],
            input_shape=None if signature is None else trace.signature(signature),
            calls=figures["calls"],
            device_self_ns=_known(figures["gpu_self_ns"]),
            device_total_ns=_known(figures["gpu_ns"]),
            host_self_ns=max(figures["self_ns"] - runtime.get((name, signature), 0), 0),
            host_total_ns=figures["total_ns"],
        )
        for (name, signature), figures in _summed(rows, group).items()
    ]
    key = _SORTED_BY.get(sort, "host_self_ns")
    found.sort(key=lambda row: -(getattr(row, key) or 0))
    return found[: top or len(found)]


def _summed(rows: Sums, group: str) -> dict[tuple[int, int | None], dict[str, int]]:
    """Sums by operator, and by its inputs if requested; -1 for what was not recorded."""
    names = ("calls", "self_ns", "total_ns", "gpu_self_ns", "gpu_ns")
    found: dict[tuple[int, int | None], dict[str, int]] = {}
    for value in values(rows):
        key = (value["name"], value["signature"] if group == "signature" else None)
        sums = found.setdefault(key, dict.fromkeys(names, -1))
        for name in names:
            if value[name] >= 0:
                sums[name] = max(sums[name], 0) + value[name]
    return found


def _runtime_ns(findings: Findings, group: str) -> dict[tuple[int, int | None], int]:
    times = findings.get(PeerTimes)
    found: dict[tuple[int, int | None], int] = {}
    for value in values(times.runtime) if times is not None else ():
        key = (value["name"], value["signature"] if group == "signature" else None)
        found[key] = found.get(key, 0) + value["time_ns"]
    return found


def tb_module_rows(findings: Findings, top: int) -> list[ModuleRow]:
    """The first `top` modules, 0 for all: each is followed by its backward, then by its children."""
    own = _own(findings)
    modules = [*values(findings[HotModules].modules)]
    whole = [
        {part: dict(own.get((value["module"], part), {})) for part in (False, True)} for value in modules
    ]
    for at in reversed(range(len(modules))):
        parent = modules[at]["parent"]
        for part, sums in whole[at].items() if parent >= 0 else ():
            for name, figure in sums.items():
                whole[parent][part][name] = whole[parent][part].get(name, 0) + figure
    calls, times = module_calls(findings.trace), findings.get(PeerTimes)
    least = [] if times is None else times.module_calls.tolist()
    rows = [
        _module(
            f"{name}.backward" if part else name,
            sums,
            own.get((value["module"], part), {}),
            None if part else calls.get(findings.trace.module_texts[value["module"]]),
            None if part or value["module"] >= len(least) else least[value["module"]] or None,
        )
        for value, parts in zip(modules, whole, strict=True)
        for name in [findings.trace.module(value["module"]) or findings.trace.module_types[value["module"]]]
        for part, sums in parts.items()
        if sums
    ]
    return rows[: top or len(rows)]


def module_calls(trace: Trace) -> dict[str, int]:
    """Number of calls by module path. Only traces with Python calls have it: an event for each call."""
    recorded = trace.recording.fact("module_calls")
    counts = recorded if isinstance(recorded, list) else []
    found: dict[str, int] = {}
    for text, count in zip(trace.module_texts, counts, strict=False):
        if type(count) is int and count > 0:
            found[text] = found.get(text, 0) + count
    return found


def _own(findings: Findings) -> dict[tuple[int, bool], dict[str, int]]:
    """Sums of each module's own operators, backward separately; GPU times only where recorded."""
    found: dict[tuple[int, bool], dict[str, int]] = {}
    for value in values(findings[Hotspots].ungrouped):
        if value["module"] < 0 or value["phase"] == Phase.DATA:
            continue
        sums = found.setdefault((value["module"], value["phase"] == Phase.BACKWARD), {})
        for name in _OF_MODULES:
            if value[name] >= 0:
                sums[name] = sums.get(name, 0) + value[name]
    return found


def _module(
    name: str, whole: Mapping[str, int], own: Mapping[str, int], calls: int | None, least: int | None
) -> ModuleRow:
    has_gpu = "gpu_self_ns" in whole
    return ModuleRow(
        name=name,
        occurrences=calls,
        least_occurrences=least if calls is None else calls,
        operators=whole["calls"],
        host_total_ns=whole["self_ns"],
        host_self_ns=own.get("self_ns", 0),
        device_total_ns=whole["gpu_self_ns"] if has_gpu else None,
        device_self_ns=own.get("gpu_self_ns", 0) if has_gpu else None,
    )


def _known(figure: int) -> int | None:
    return figure if figure >= 0 else None
