"""Rows of memory as Paddle's profiler and the TensorBoard plugin define them."""

from __future__ import annotations

from perfprobe.report.rows.memory import device_of, since_start
from perfprobe.report.rows.row import named, values
from perfprobe.support.frozen import frozen
from perfprobe.tables.findings import Findings
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.strings import Strings

UNKNOWN = "<unknown>"  # the plugin's word


@frozen(kw_only=True)
class PaddleMemoryRow:
    """An event of the host, with memory allocated and freed in it but in none of the events inside it."""

    device: str
    name: str
    type: str
    allocation_count: int
    free_count: int
    allocation_size_bytes: int
    free_size_bytes: int
    increased_size_bytes: int


@frozen(kw_only=True)
class TensorBoardMemoryRow:
    """An operator. Self: in none of the operators inside it. Increase: allocated minus freed."""

    device: str
    operator_name: str
    calls: int
    size_increase_bytes: int
    self_size_increase_bytes: int
    allocation_count: int
    self_allocation_count: int
    allocation_size_bytes: int
    self_allocation_size_bytes: int


@frozen(kw_only=True)
class TensorBoardEventRow:
    """One of the largest storages. Times are since the start. Without a release time it was not freed."""

    operator: str
    size_bytes: int
    allocation_time_ns: int | None
    release_time_ns: int | None
    duration_ns: int | None


def paddle_memory_rows(findings: Findings, top: int = 0) -> list[PaddleMemoryRow]:
    """Events, largest increase first. top: at most this many, 0 for all."""
    strings = findings.trace.recording[Strings]
    rows = [
        PaddleMemoryRow(
            device=device_of(findings),
            name=named(strings[value["name"]]) or UNKNOWN,
            type="Allocated",
            allocation_count=value["allocations"],
            free_count=value["frees"],
            allocation_size_bytes=value["allocated_bytes"],
            free_size_bytes=value["freed_bytes"],
            increased_size_bytes=value["allocated_bytes"] - value["freed_bytes"],
        )
        for value in values(findings[MemoryUse].calls)
        if value["allocations"] or value["frees"]
    ]
    return sorted(rows, key=lambda row: -row.increased_size_bytes)[: top or None]


def tensorboard_memory_rows(findings: Findings, top: int = 0) -> list[TensorBoardMemoryRow]:
    """Operators, those that allocated most themselves first. As in the plugin, ranges are no operators."""
    strings = findings.trace.recording[Strings]
    rows = [
        TensorBoardMemoryRow(
            device=device_of(findings),
            operator_name=strings[value["name"]],
            calls=value["calls"],
            size_increase_bytes=value["total_allocated_bytes"] - value["total_freed_bytes"],
            self_size_increase_bytes=value["allocated_bytes"] - value["freed_bytes"],
            allocation_count=value["total_allocations"],
            self_allocation_count=value["allocations"],
            allocation_size_bytes=value["total_allocated_bytes"],
            self_allocation_size_bytes=value["allocated_bytes"],
        )
        for value in values(findings[MemoryUse].calls)
        if value["calls"]
    ]
    return sorted(rows, key=lambda row: -row.self_allocation_size_bytes)[: top or None]


def tensorboard_event_rows(findings: Findings, top: int = 0) -> list[TensorBoardEventRow]:
    """The largest storages. One that `aten::empty` allocated also names the operator around it."""
    strings = findings.trace.recording[Strings]
    found = []
    for value in values(findings[MemoryUse].largest.take(slice(top or None))):
        inner, around = strings[value["innermost"]] or UNKNOWN, strings[value["name"]]
        is_freed = value["end_ns"] >= 0
        found.append(
            TensorBoardEventRow(
                operator=f"{around} ({inner})" if around and around != inner else inner,
                size_bytes=value["size_bytes"],
                allocation_time_ns=since_start(findings, value["start_ns"]),
                release_time_ns=since_start(findings, value["end_ns"]) if is_freed else None,
                duration_ns=value["end_ns"] - value["start_ns"] if is_freed else None,
            )
        )
    return found
