"""Reads what a trace holds about GPUs: kernels, copies, API calls and waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perfprobe.models.chrome import NO_STREAM
from perfprobe.models.device_calls import GRAPH_LAUNCH
from perfprobe.read.kineto.event import Events, small
from perfprobe.read.kineto.generated import GeneratedKernels
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.operators import Calls
from perfprobe.read.kineto.rows import Rows
from perfprobe.tables.columns import Int64, Table
from perfprobe.tables.gpu import (
    MOST_DEVICES,
    ApiCalls,
    Copies,
    CopyKind,
    GpuWaits,
    Kernels,
    MemoryKind,
    WaitKind,
)

CALLS = ("cuda_runtime", "cuda_driver", "runtime", "privateuse1_runtime", "xpu_runtime", "mtia_runtime")
_KINDS = {
    "HtoD": CopyKind.HOST_TO_DEVICE,
    "DtoH": CopyKind.DEVICE_TO_HOST,
    "HtoA": CopyKind.HOST_TO_ARRAY,
    "AtoH": CopyKind.ARRAY_TO_HOST,
    "AtoA": CopyKind.ARRAY_TO_ARRAY,
    "AtoD": CopyKind.ARRAY_TO_DEVICE,
    "DtoA": CopyKind.DEVICE_TO_ARRAY,
    "DtoD": CopyKind.DEVICE_TO_DEVICE,
    "HtoH": CopyKind.HOST_TO_HOST,
    "PtoP": CopyKind.PEER_TO_PEER,
    "HostToDevice": CopyKind.HOST_TO_DEVICE,  # this and the following: AMD's names
    "DeviceToHost": CopyKind.DEVICE_TO_HOST,
    "DeviceToDevice": CopyKind.DEVICE_TO_DEVICE,
    "HostToHost": CopyKind.HOST_TO_HOST,
}
_WAITS = {
    "Event Sync": WaitKind.EVENT,
    "Stream Wait Event": WaitKind.STREAM_WAIT_EVENT,
    "Stream Sync": WaitKind.STREAM,
    "Context Sync": WaitKind.CONTEXT,
}
_MEMORY = {kind.name.replace("_", " ").title(): kind for kind in MemoryKind}
MOST_PERCENT = 1000
MOST_BLOCKS = 1e12  # of a grid, which has at most 2^31 x 2^16 x 2^16


class DeviceReader:
    """Makes rows of a trace's GPU events, one for each event that has times."""

    def __init__(self, names: Names, generated: GeneratedKernels) -> None:
        self._names, self._generated = names, generated
        self.kernels, self.copies = Rows(Kernels), Rows(Copies)
        self.calls, self.waits = Rows(ApiCalls), Rows(GpuWaits)
        self.without_sizes = self.graph_launches = self.of_graphs = self.beyond_devices = 0
        self.streams_differ = self.has_no_stream = False

    def adder(self, category: str) -> Callable[[Events], int] | None:
        """Returns the function that adds events of this category and says how many had times, or None."""
        kind = category.removeprefix("gpu_")
        if category in CALLS:
            return self._add_calls
        return {
            "kernel": self._add_kernels,
            "memcpy": self._add_copies,
            "memset": self._add_copies,
            "cuda_sync": self._add_waits,
        }.get(kind)

    @property
    def events(self) -> int:
        """The number of kernels, copies and fills so far."""
        return len(self.kernels) + len(self.copies)

    def call_times(self) -> Calls:
        """The calls, as yet without stacks."""
        calls = self.calls.columns()
        return Calls(
            calls["thread"], (calls["start_ns"] + calls["end_ns"]) // 2, np.full(len(self.calls), -1)
        )

    def tables(self, calls: Calls) -> list[Table]:
        """The tables that have rows, which are freed. calls: with stacks."""
        made = []
        for rows in (self.kernels, self.copies, self.calls, self.waits):
            own = {"stack": calls.stack} if rows is self.calls else {}
            made += [rows.table(**own)] if len(rows) else []
            rows.forget()
        return made

    def _add_calls(self, events: Events) -> int:
        events, *span = _usable(events)
        thread = events.each("tid", self._names.thread)
        started = events.each("name", lambda name: str(name).startswith(GRAPH_LAUNCH))
        self.graph_launches += int(started.sum())
        nothing = np.full(len(events), -1, np.int64)
        name = events.each("name", self._names.text)
        self.calls.extend(*span, thread, name, events.numbers("correlation"), nothing, nothing)
        return len(events)

    def _add_kernels(self, events: Events) -> int:
        events, *span = _usable(events)
        name = events.each("name", self._name)
        self.kernels.extend(*span, *self._where(events), name, self._launches(events), *self._origin(events))
        return len(events)

    def _name(self, name: Any) -> int:
        self._generated.note_kernel(str(name))
        return self._names.text(name)

    def _add_copies(self, events: Events) -> int:
        events, *span = _usable(events)
        group, known = events.groups("name")
        moves = [_move(str(events.value(code))) for (code,) in known]
        kinds = np.array(moves, np.int64).reshape(-1, 3)[group].T
        nothing = np.full(len(events), -1, np.int64)
        sizes = events.numbers("size_bytes")
        self.copies.extend(
            *span, *self._where(events), *kinds, nothing, sizes, nothing, *self._origin(events)
        )
        return len(events)

    def _add_waits(self, events: Events) -> int:
        events, *span = _usable(events)
        group, known = events.groups("wait_kind", "name")
        named = [events.value(kind) or events.value(name) for kind, name in known]
        kind = np.array([_WAITS.get(str(each), WaitKind.UNKNOWN) for each in named], np.int64)[group]
        self.has_no_stream |= bool((events.codes("stream") == NO_STREAM).any())
        where = events.smalls("context"), events.smalls("stream")
        self.waits.extend(*span, kind, *where, events.numbers("correlation"))
        return len(events)

    def _where(self, events: Events) -> tuple[Int64, Int64, Int64]:
        """Returns devices, contexts and streams."""
        device = np.where(events.has("device"), events.smalls("device"), events.smalls("pid"))
        stream = np.where(events.has("stream"), events.smalls("stream"), events.smalls("tid"))
        self.beyond_devices += int(np.count_nonzero(device >= MOST_DEVICES))
        return np.where(device < MOST_DEVICES, device, -1), events.smalls("context"), stream

    def _origin(self, events: Events) -> tuple[Int64, Int64, Int64]:
        """Returns the correlation ids, graphs and nodes of graphs."""
        graph = events.numbers("graph")
        graph = np.where(graph > 0, graph, -1)
        self.of_graphs += int(np.count_nonzero(graph > 0))
        return events.numbers("correlation"), graph, events.numbers("graph_node")

    def _launches(self, events: Events) -> Int64:
        """Returns the rows of `Launches`. A trace has shared memory only as one sum."""
        group, known = events.groups(
            "grid", "block", "registers", "shared_bytes", "occupancy", "blocks_per_sm"
        )
        rows = []
        for grid, block, *others in known:
            registers, shared_bytes, occupancy, blocks = map(events.value, others)
            kineto = small(shared_bytes), _percent(occupancy), _millionths(blocks)
            rows.append(self._names.launch(events.raw(grid), events.raw(block), small(registers), kineto))
        found = np.array(rows, np.int64)[group]
        self.without_sizes += int(np.count_nonzero(found < 0))
        return found


def _usable(events: Events) -> tuple[Events, Int64, Int64]:
    """Returns the events that have times, their starts and their ends."""
    start_ns, end_ns, usable = events.spans()
    return events.take(usable), start_ns[usable], end_ns[usable]


def _percent(value: Any) -> int:
    """Kineto writes whole percents; -1 for none."""
    return round(value) if type(value) in (int, float) and 0 <= value <= MOST_PERCENT else -1


def _millionths(value: Any) -> int:
    """Kineto writes a fraction with six digits; -1 for none."""
    return round(value * 1e6) if type(value) in (int, float) and 0 <= value < MOST_BLOCKS else -1


def _move(name: str) -> tuple[int, int, int]:
    """Returns kind, source and destination of "Memcpy HtoD (Pageable -> Device)" or "Memset (Device)"."""
    what, _, memory = name.partition(" (")
    source, _, destination = memory.rstrip(")").partition(" -> ")
    if "set" in what.lower() or what.startswith("Fill"):
        return CopyKind.FILL, MemoryKind.UNKNOWN, _MEMORY.get(source, MemoryKind.UNKNOWN)
    kind = next((kind for word, kind in _KINDS.items() if word in what), CopyKind.UNKNOWN)
    return kind, _MEMORY.get(source, MemoryKind.UNKNOWN), _MEMORY.get(destination, MemoryKind.UNKNOWN)
