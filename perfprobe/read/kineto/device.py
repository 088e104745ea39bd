"""Reads what a trace holds about GPUs: kernels, copies, API calls and waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfprobe.models.chrome import NO_STREAM
from perfprobe.read.kineto.event import NO_FACTS, Event, Facts, number, small, span_ns
from perfprobe.read.kineto.generated import GeneratedKernels
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.rows import Rows
from perfprobe.tables.columns import Table
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, GpuWaits, Kernels, MemoryKind, WaitKind

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
_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")


class DeviceReader:
    """Makes rows of a trace's GPU events, one for each event it is given."""

    def __init__(self, names: Names, generated: GeneratedKernels) -> None:
        self._names, self._generated = names, generated
        self.kernels, self.copies = Rows(Kernels), Rows(Copies)
        self.calls, self.waits = Rows(ApiCalls), Rows(GpuWaits)
        self.without_sizes = self.graph_launches = self.of_graphs = 0
        self.streams_differ = self.has_no_stream = False

    def adder(self, category: str) -> Callable[[Event], bool] | None:
        """Returns the function that adds events of this category, or None."""
        kind = category.removeprefix("gpu_")
        if category in CALLS:
            return self._add_call
        return {
            "kernel": self._add_kernel,
            "memcpy": self._add_copy,
            "memset": self._add_copy,
            "cuda_sync": self._add_wait,
        }.get(kind)

    @property
    def events(self) -> int:
        """The number of kernels, copies and fills so far."""
        return len(self.kernels) + len(self.copies)

    def tables(self) -> list[Table]:
        """The tables that have rows."""
        return [rows.table() for rows in (self.kernels, self.copies, self.calls, self.waits) if len(rows)]

    def _add_call(self, event: Event) -> bool:
        span = span_ns(event)
        if span is None:
            return False
        name = str(event.name)
        self.graph_launches += name.startswith(_GRAPH_LAUNCHES)
        correlation = (event.args or NO_FACTS).correlation
        thread = self._names.thread(event.tid)
        correlation = -1 if correlation is None else number(correlation)
        self.calls.add(*span, thread, self._names.text(name), correlation, -1, -1)
        return True

    def _add_kernel(self, event: Event) -> bool:
        span = span_ns(event)
        if span is None:
            return False
        facts = event.args or NO_FACTS
        self._generated.note_kernel(str(event.name))
        name, launch = self._names.text(str(event.name)), self._launch(facts)
        self.kernels.add(*span, *_where(event, facts), name, launch, *self._origin(facts))
        return True

    def _add_copy(self, event: Event) -> bool:
        span = span_ns(event)
        if span is None:
            return False
        facts, (kind, source, destination) = event.args or NO_FACTS, _move(str(event.name))
        correlation, graph, node = self._origin(facts)
        self.copies.add(
            *(*span, *_where(event, facts), kind, source, destination, -1, number(facts.size_bytes)),
            *(-1, correlation, graph, node),
        )
        return True

    def _add_wait(self, event: Event) -> bool:
        span = span_ns(event)
        if span is None:
            return False
        facts = event.args or NO_FACTS
        kind = _WAITS.get(str(facts.wait_kind or event.name), WaitKind.UNKNOWN)
        self.has_no_stream |= facts.stream == NO_STREAM
        context, stream = small(facts.context), small(facts.stream)
        self.waits.add(*span, kind, context, stream, number(facts.correlation))
        return True

    def _origin(self, facts: Facts) -> tuple[int, int, int]:
        correlation = number(facts.correlation)
        if facts.graph is None and facts.graph_node is None:
            return correlation, -1, -1
        graph = number(facts.graph)
        graph = graph if graph > 0 else -1
        self.of_graphs += graph > 0
        return correlation, graph, number(facts.graph_node)

    def _launch(self, facts: Facts) -> int:
        """The row of `Launches`. A trace has shared memory only as one sum."""
        kineto = small(facts.shared_bytes), _percent(facts.occupancy)
        found = self._names.launch(facts.grid, facts.block, small(facts.registers), kineto)
        self.without_sizes += found < 0
        return found


def _where(event: Event, facts: Facts) -> tuple[int, int, int]:
    """Returns device, context and stream."""
    device = small(event.pid if facts.device is None else facts.device)
    stream = small(event.tid if facts.stream is None else facts.stream)
    return device, small(facts.context), stream


def _percent(value: Any) -> int:
    """Kineto writes whole percents; -1 for none."""
    return round(value) if type(value) in (int, float) and 0 <= value <= MOST_PERCENT else -1


def _move(name: str) -> tuple[int, int, int]:
    """Returns kind, source and destination of "Memcpy HtoD (Pageable -> Device)" or "Memset (Device)"."""
    what, _, memory = name.partition(" (")
    source, _, destination = memory.rstrip(")").partition(" -> ")
    if "set" in what.lower() or what.startswith("Fill"):
        return CopyKind.FILL, MemoryKind.UNKNOWN, _MEMORY.get(source, MemoryKind.UNKNOWN)
    kind = next((kind for word, kind in _KINDS.items() if word in what), CopyKind.UNKNOWN)
    return kind, _MEMORY.get(source, MemoryKind.UNKNOWN), _MEMORY.get(destination, MemoryKind.UNKNOWN)
