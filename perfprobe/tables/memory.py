"""Memory of tensors on the CPU: what was allocated and freed, by which operator and line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from perfprobe.support.frozen import frozen
from perfprobe.tables.columns import MOST_EVENTS, Combine, Int8, Int32, Int64, Table, column
from perfprobe.tables.events import Threads
from perfprobe.tables.stacks import Frames, Modules, Stacks
from perfprobe.tables.strings import Strings


class MemoryEvent(IntEnum):
    """What happened to a storage's memory, or what the storage holds."""

    ALLOCATED = 0
    FREED = 1
    PARAMETER = 2  # a parameter of a module that was called, or one that got a gradient
    BUFFER = 3  # of a module that was called


class MemoryRows(Table, name="memory", most_rows=MOST_EVENTS):
    """Allocations and frees of torch's allocator for the CPU, and which storages hold parameters."""

    time_ns: Int64 = column("when it happened")
    thread: Int32 = column("the thread that did it", Threads)
    event: Int8 = column("a `MemoryEvent`")
    storage: Int64 = column("its address divided by 16; another storage may have it once this one is freed")
    size_bytes: Int64 = column("as requested; -1 if freed")
    stack: Int32 = column("for an allocation outside of operators, the Python stack", Stacks)


@frozen
class MemoryBlocks:
    """The rows of `MemoryRows`, which stay in the file until they are read block by block.

    first_ns, last_ns: first and last time in each block. read: returns the rows of a block by its number.
    """

    first_ns: Int64
    last_ns: Int64
    read: Callable[[int], MemoryRows]

    @classmethod
    def of(cls, *blocks: MemoryRows) -> MemoryBlocks:
        """Blocks that are in memory, none of them empty."""
        first_ns = np.array([int(block.time_ns.min()) for block in blocks], np.int64)
        last_ns = np.array([int(block.time_ns.max()) for block in blocks], np.int64)
        return cls(first_ns, last_ns, lambda number: blocks[number])


class Storages(Table):
    """Storages, each from allocation to free, ordered by time of allocation."""

    start_ns: Int64 = column("when it was allocated")
    end_ns: Int64 = column("when it was freed, -1 if it was not")
    thread: Int32 = column("the thread that allocated it", Threads)
    freed_thread: Int32 = column("the thread that freed it", Threads)
    size_bytes: Int64 = column("its size, as requested")
    stack: Int32 = column("if no operator allocated it, the Python stack", Stacks)
    named: Int8 = column("`MemoryEvent.PARAMETER` or `BUFFER` if it holds one, else 0")


class NumberedStorages(Storages):
    """Storages that are known by their number."""

    number: Int64 = column("its place in the order of allocation")
    storage: Int64 = column("as in `MemoryRows`")


class MemoryChanges(NamedTuple):
    """The changes in one stretch of time. Stretches follow each other without gaps.

    begun: storages allocated in it, by time, without an end yet. ended: storages freed in it;
    in the last stretch also storages that were never freed. until_ns: the end of the stretch.
    """

    begun: NumberedStorages
    ended: NumberedStorages
    until_ns: int


@frozen
class TensorMemory:
    """Memory of tensors, read from the file in stretches of time.

    Attributes:
        changes: yields the stretches in order. Raises InputError if the file can no longer be read.
        allocations: number of storages.
        allocated_bytes: sum of their sizes.
        held_bytes: bytes alive at the end.
        peak_bytes: the most bytes alive at once.
        peak_ns: the time of the peak.
        moments_ns: the highest moments of at most 1,000 equal stretches of time.
        older_bytes: size of parameters and buffers that are older than the recording.
    """

    changes: Callable[[], Iterator[MemoryChanges]]
    allocations: int
    allocated_bytes: int
    held_bytes: int
    peak_bytes: int
    peak_ns: int
    moments_ns: Int64
    older_bytes: int


class MemoryCategory(IntEnum):
    """What a storage is for, by where it was allocated and how long it lived."""

    PARAMETER = 0  # of a module, or with a gradient; also buffers of modules
    GRADIENT = 1  # allocated in backward, alive at its end
    OPTIMIZER = 2  # allocated in an optimizer's step, alive at its end
    ACTIVATION = 3  # allocated in forward, alive when the step's backward begins
    INPUT = 4  # allocated outside of modules, backward and optimizers: batches, data sets
    TEMPORARY = 5  # the rest: freed before the part of the step that allocated it ended
    KEPT = 6  # activations, inputs and temporaries that outlive their step (inputs: the next step too)


CATEGORY_TEXTS = {
    MemoryCategory.PARAMETER: "parameters",
    MemoryCategory.GRADIENT: "gradients",
    MemoryCategory.OPTIMIZER: "optimizer state",
    MemoryCategory.ACTIVATION: "activations",
    MemoryCategory.INPUT: "inputs",
    MemoryCategory.TEMPORARY: "temporaries",
    MemoryCategory.KEPT: "kept from earlier steps",
}


class MemorySums(Table):
    """How much one operator, line, module or phase allocated, freed and held."""

    allocations: Int64 = column("number of storages that it allocated", combine=Combine.SUM)
    allocated_bytes: Int64 = column("bytes that it allocated", combine=Combine.SUM)
    frees: Int64 = column("number of storages that it freed", combine=Combine.SUM)
    freed_bytes: Int64 = column("bytes that it freed, whoever had allocated them", combine=Combine.SUM)
    held_bytes: Int64 = column(
        "bytes that it allocated and that were not freed before the recording's end", combine=Combine.SUM
    )
    peak_bytes: Int64 = column(
        "bytes that it had allocated and that were alive at the peak", combine=Combine.SUM
    )
    backward_bytes: Int64 = column(
        "bytes that it allocated in a step's forward and that were alive when backward began: mean of the "
        "steps that count, -1 without backward",
        combine=Combine.SUM,
        optional=True,
    )
    growth_bytes: Int64 = column(
        "growth of the memory it holds from one step's end to the next: median slope over all pairs of steps "
        "that count, 0 if it does not grow, -1 with fewer than three steps",
        optional=True,
    )


class MemoryOperators(MemorySums):
    """Memory by operator. Name -1: allocated between operators, by Python or a library."""

    name: Int32 = column("the operator; for `aten::empty` and the like the operator around it", Strings)


class MemoryCalls(Table):
    """Memory by innermost operator or range, for the tables of other profilers."""

    name: Int32 = column("the innermost operator or range, -1 for none", Strings)
    calls: Int64 = column("number of operators with this name, 0 for ranges", combine=Combine.SUM)
    allocations: Int64 = column("allocations in none of its children", combine=Combine.SUM)
    allocated_bytes: Int64 = column("bytes that these allocated", combine=Combine.SUM)
    frees: Int64 = column("frees in none of its children", combine=Combine.SUM)
    freed_bytes: Int64 = column("bytes that these freed", combine=Combine.SUM)
    total_allocations: Int64 = column("allocations of its calls and of all they called", combine=Combine.SUM)
    total_allocated_bytes: Int64 = column("bytes that these allocated", combine=Combine.SUM)
    total_freed_bytes: Int64 = column("bytes that these freed", combine=Combine.SUM)


class MemoryLines(MemorySums):
    """Memory by the user's line, in backward that of the forward call."""

    frame: Int32 = column("the user's line", Frames)


class MemoryModules(MemorySums):
    """Memory by the innermost nn.Module."""

    module: Int32 = column("the nn.Module, the first one with this path", Modules)


class MemoryPhases(MemorySums):
    """Memory by phase."""

    phase: Int8 = column("a `Phase`")


class MemoryCategories(Table):
    """Memory that was alive, by category."""

    category: Int8 = column("a `MemoryCategory`")
    storages: Int64 = column("number of storages alive at the peak", combine=Combine.SUM)
    peak_bytes: Int64 = column("bytes alive at the peak", combine=Combine.SUM)
    held_bytes: Int64 = column("bytes alive at the recording's end", combine=Combine.SUM)


class MemoryLargest(Table):
    """The largest storages, at most 100, by size."""

    name: Int32 = column("the operator that allocated it, as in `MemoryOperators`", Strings)
    innermost: Int32 = column("the innermost operator in which it was allocated", Strings)
    frame: Int32 = column("the user's line", Frames)
    category: Int8 = column("a `MemoryCategory`")
    size_bytes: Int64 = column("its size")
    start_ns: Int64 = column("when it was allocated")
    end_ns: Int64 = column("when it was freed, -1 if it was not")


class MemoryTimeline(Table):
    """Held memory over time: the highest moment of each of at most 1,000 equal stretches of time."""

    time_ns: Int64 = column("the moment within the stretch at which most was held")
    category: Int8 = column("a `MemoryCategory`")
    held_bytes: Int64 = column("bytes of this category held at that moment")


@frozen
class MemoryUse:
    """Memory of tensors on the CPU.

    Attributes:
        peak_bytes: the most memory that was held at once, of what was recorded.
        peak_ns: the time of the peak.
        allocated_bytes: sum of all allocations.
        held_bytes: memory alive at the recording's end.
        older_bytes: parameters and buffers allocated before the recording; no other figure includes them.
        backward_bytes: memory that forward leaves alive for backward, mean of the steps that count; None
            without backward.
        growth_bytes: growth of all memory in a step, as for a line; None with fewer than three steps.
        steps: number of steps that count.
    """

    peak_bytes: int
    peak_ns: int
    allocations: int
    allocated_bytes: int
    held_bytes: int
    older_bytes: int
    backward_bytes: int | None
    growth_bytes: int | None
    steps: int
    categories: MemoryCategories
    operators: MemoryOperators
    lines: MemoryLines
    modules: MemoryModules
    phases: MemoryPhases
    calls: MemoryCalls
    largest: MemoryLargest
    timeline: MemoryTimeline
