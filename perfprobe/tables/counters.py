"""Counts of the processor and the kernel: cycles, instructions, misses, stalls, page faults, switches."""

from __future__ import annotations

from typing import NamedTuple

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Signatures, Threads
from perfprobe.tables.stacks import Frames
from perfprobe.tables.strings import Strings


class Counted(Table):
    """Counts. Those of the processor cover only the time in which their group counted: see `GROUPS`."""

    cpu_ns: Int64 = column("CPU time of the thread", combine=Combine.SUM)
    page_faults: Int64 = column("page faults, minor and major", combine=Combine.SUM, optional=True)
    context_switches: Int64 = column(
        "how often the thread left its processor", combine=Combine.SUM, optional=True
    )
    migrations: Int64 = column(
        "how often the thread moved to another processor", combine=Combine.SUM, optional=True
    )
    cycles: Int64 = column("cycles of the processor", combine=Combine.SUM, optional=True)
    instructions: Int64 = column("completed instructions", combine=Combine.SUM, optional=True)
    branches: Int64 = column("completed branches", combine=Combine.SUM, optional=True)
    branch_misses: Int64 = column("mispredicted branches", combine=Combine.SUM, optional=True)
    cache_references: Int64 = column("accesses to the last-level cache", combine=Combine.SUM, optional=True)
    cache_misses: Int64 = column("misses of the last-level cache", combine=Combine.SUM, optional=True)
    l1_misses: Int64 = column(
        "loads that missed the first-level data cache", combine=Combine.SUM, optional=True
    )
    frontend_stalls: Int64 = column(
        "cycles in which the front end delivered no instructions", combine=Combine.SUM, optional=True
    )
    backend_stalls: Int64 = column(
        "cycles in which instructions waited for data or execution units", combine=Combine.SUM, optional=True
    )
    enabled_ns: Int64 = column(
        "time in which the thread ran with open events", combine=Combine.SUM, optional=True
    )
    core_ns: Int64 = column(
        "time in which cycles, instructions and branches were counted", combine=Combine.SUM, optional=True
    )
    cache_ns: Int64 = column(
        "time in which accesses to caches were counted", combine=Combine.SUM, optional=True
    )
    stalls_ns: Int64 = column("time in which stalls were counted", combine=Combine.SUM, optional=True)


# For each count of the processor, the column with the time in which its group counted.
GROUPS = {
    **dict.fromkeys(("cycles", "instructions", "branches", "branch_misses"), "core_ns"),
    **dict.fromkeys(("cache_references", "cache_misses", "l1_misses"), "cache_ns"),
    **dict.fromkeys(("frontend_stalls", "backend_stalls"), "stalls_ns"),
}
SOFTWARE = ("page_faults", "context_switches", "migrations")  # counted all the time


class Counters(Counted, name="counters", most_rows=MOST_EVENTS):
    """What a thread did between two readings, if it ran. Recorded with `--counters`."""

    start_ns: Int64 = column("the reading before")
    end_ns: Int64 = column("this reading")
    thread: Int32 = column("the thread", Threads)


class MemoryTraffic(Table, name="memory_traffic", most_rows=MOST_EVENTS):
    """Bytes that the memory controllers moved between two readings, for all processes of the machine."""

    start_ns: Int64 = column("the reading before")
    end_ns: Int64 = column("this reading")
    read_bytes: Int64 = column("read from memory", combine=Combine.SUM)
    written_bytes: Int64 = column("written to memory", combine=Combine.SUM)


class ThreadCounts(Counted):
    """The sums of a thread, from the time when it was first seen."""

    thread: Int32 = column("the thread", Threads)


class OperatorCounts(Counted):
    """Counts of the calling thread between readings that one kind of operator filled."""

    name: Int32 = column("the operator", Strings)
    signature: Int32 = column("signature of its inputs", Signatures)
    frame: Int32 = column("the user's line", Frames)
    phase: Int8 = column("a `Phase`")
    looks: Int64 = column("number of readings", combine=Combine.SUM)


class EventState(NamedTuple):
    """An event, and why it is not counted ("" if it is). in_kernel: whether it is also counted there."""

    name: str
    in_kernel: bool
    reason: str
    remedy: str


@frozen
class CounterFindings:
    """All counts of a process.

    Attributes:
        events: all events that were tried.
        read_bytes: bytes that the memory controllers read for all processes, None if not counted.
        written_bytes: the same for bytes written.
        traffic_ns: the time in which these were counted.
    """

    events: tuple[EventState, ...]
    threads: ThreadCounts
    operators: OperatorCounts
    read_bytes: int | None
    written_bytes: int | None
    traffic_ns: int
