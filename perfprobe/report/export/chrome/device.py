"""Events of GPUs: kernels, copies and waits on tracks of streams, calls of CUDA on tracks of threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from math import isnan
from typing import Any

import numpy as np

from perfprobe.models.chrome import NO_STREAM
from perfprobe.models.launch_sizes import LaunchTable
from perfprobe.report.export.chrome.calls import CallIds
from perfprobe.report.export.chrome.scene import OVERHEAD, Scene, arrow, complete, fact, micros, text
from perfprobe.tables.columns import Int8, Int32, Int64, Mask, Table
from perfprobe.tables.gpu import (
    ApiCalls,
    Copies,
    CopyKind,
    GpuOverheads,
    GpuWaits,
    Kernels,
    Launches,
    MemoryKind,
    OverheadKind,
    WaitKind,
)

_SHORT = {"host": "H", "device": "D", "array": "A", "peer": "P"}
_WAITS = {
    WaitKind.EVENT: "Event Sync",
    WaitKind.STREAM_WAIT_EVENT: "Stream Wait Event",
    WaitKind.STREAM: "Stream Sync",
    WaitKind.CONTEXT: "Context Sync",
}
_OLD = {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}
_OLD |= {"cuda_runtime": "Runtime", "cuda_driver": "Runtime"}
_WARP = 32


class DeviceEvents:
    """All events of GPUs, as JSON texts."""

    def __init__(self, scene: Scene, calls: CallIds) -> None:
        self._scene, self._calls = scene, calls
        recording, self._links = scene.recording, scene.trace.gpu
        self._api = recording[ApiCalls]
        self._next_arrow = count(1)
        kernels = recording[Kernels]
        self._device_of = dict(zip(kernels.context.tolist(), kernels.device.tolist(), strict=True))
        self._launches = LaunchTable(recording)
        self._launch = lru_cache(1 << 14)(self._made_launch)
        # Kineto of 2023 wrote all bits set, which HTA takes for a stream; today's -1 it takes for the host.
        old = recording.fact("trace", "no_stream") == NO_STREAM
        self._no_stream = NO_STREAM if old else -1
        devices = recording.fact("gpu", "devices")
        self._devices = devices if isinstance(devices, list) else []

    def __iter__(self) -> Iterator[str]:
        yield from self._api_calls()
        if self._links is not None:
            yield from self._kernels(self._links.kernel_call)
            yield from self._copies(self._links.copy_call)
            yield from self._waits(self._links.wait_call)
        yield from self._overheads()

    def names(self) -> Iterator[str]:
        """Events that name devices and streams."""
        streams: set[tuple[int, int]] = set()
        for table in (self._scene.recording[Kernels], self._scene.recording[Copies]):
            columns = (table.device, table.stream)
            streams.update(zip(*(np.maximum(column, 0).tolist() for column in columns), strict=True))
        for device in sorted({device for device, _ in streams}):
            yield fact("process_name", device, 0, f"GPU {device}")
            yield fact("process_labels", device, 0, f"GPU {device}", "labels")
            yield fact("process_sort_index", device, 0, 5_000_000 + device, "sort_index")
        for device, stream in sorted(streams):
            yield fact("thread_name", device, stream, f"stream {stream} ")
            yield fact("thread_sort_index", device, stream, stream, "sort_index")

    def _category(self, name: str) -> str:
        return _OLD.get(name, name) if self._scene.old else name

    def _api_calls(self) -> Iterator[str]:
        scene, api = self._scene, self._api
        shown = scene.shown(api.start_ns, api.end_ns)
        external = self._calls.of_calls[:-1]
        columns = (api.start_ns, api.end_ns, api.thread, api.name, api.correlation, external)
        for (start_ns, end_ns, thread, name, correlation, number), own in self._rows(api, shown, columns):
            is_driver = scene.strings[name].startswith("cu") and not scene.strings[name].startswith("cuda")
            category = self._category("cuda_driver" if is_driver else "cuda_runtime")
            fields = self._ids(correlation, number)
            where, times = (scene.pid, scene.tids[thread]), self._times(start_ns, end_ns)
            yield complete(category, scene.name(name), where, times, f"{fields}{own}")

    def _kernels(self, call: Int32) -> Iterator[str]:
        scene, kernels = self._scene, self._scene.recording[Kernels]
        shown = scene.shown(kernels.start_ns, kernels.end_ns, self._asked_ns(kernels.start_ns, call))
        columns = (
            *(kernels.start_ns, kernels.end_ns, kernels.device, kernels.context, kernels.stream),
            *(kernels.correlation, self._calls.of_calls[call], kernels.name, kernels.launch),
            *(kernels.graph, kernels.graph_node, call),
        )
        category = self._category("kernel")
        for row, own in self._rows(kernels, shown, columns):
            start_ns, end_ns, device, context, stream, correlation, number, name, launch = row[:9]
            fields = f'"queued":0,{self._on(device, context, stream)}{self._ids(correlation, number)}'
            fields += self._launch(device, launch) + _graph(*row[9:11])
            where, times = _where(device, stream), self._times(start_ns, end_ns)
            yield complete(category, scene.name(name), where, times, f"{fields}{own}")
            yield from self._arrow(row[11], (*where, times[0]))

    def _copies(self, call: Int32) -> Iterator[str]:
        scene, copies = self._scene, self._scene.recording[Copies]
        shown = scene.shown(copies.start_ns, copies.end_ns, self._asked_ns(copies.start_ns, call))
        columns = (
            *(copies.start_ns, copies.end_ns, copies.device, copies.context, copies.stream),
            *(copies.correlation, self._calls.of_calls[call], copies.kind, copies.source),
            *(copies.destination, copies.size_bytes, copies.graph, copies.graph_node, call),
        )
        for row, own in self._rows(copies, shown, columns):
            start_ns, end_ns, device, context, stream, correlation, number = row[:7]
            category = self._category("gpu_memset" if row[7] == CopyKind.FILL else "gpu_memcpy")
            fields = f"{self._on(device, context, stream)}{self._ids(correlation, number)}"
            if row[10] >= 0:
                rate = row[10] / max(end_ns - start_ns, 1)
                fields += f'"bytes":{row[10]},"memory bandwidth (GB/s)":{rate:.6f},'
            fields += _graph(*row[11:13])
            where, times = _where(device, stream), self._times(start_ns, end_ns)
            yield complete(category, text(_copy_name(*row[7:10])), where, times, f"{fields}{own}")
            yield from self._arrow(row[13], (*where, times[0]))

    def _waits(self, call: Int32) -> Iterator[str]:
        scene, waits = self._scene, self._scene.recording[GpuWaits]
        shown = scene.shown(waits.start_ns, waits.end_ns)
        external = self._calls.of_calls[call]
        columns = (waits.start_ns, waits.end_ns, waits.kind, waits.context, waits.stream)
        for row, own in self._rows(waits, shown, (*columns, waits.correlation, external)):
            start_ns, end_ns, kind, context, stream, correlation, number = row
            device = self._device_of.get(context, 0)
            name = text(_WAITS.get(WaitKind(kind), "Sync") if kind in set(WaitKind) else "Sync")
            written_stream = stream if stream >= 0 else self._no_stream
            args = f'"cuda_sync_kind":{name},{self._on(device, context, written_stream)}'
            args += self._ids(correlation, number)
            where = max(device, 0), max(stream, -1)
            yield complete("cuda_sync", name, where, self._times(start_ns, end_ns), f"{args}{own}")

    def _overheads(self) -> Iterator[str]:
        table = self._scene.recording[GpuOverheads]
        shown = self._scene.shown(table.start_ns, table.end_ns)
        for (start_ns, end_ns, kind), own in self._rows(table, shown, tuple(table.columns().values())):
            known = OverheadKind(kind) if kind in set(OverheadKind) else OverheadKind.UNKNOWN
            name = text(known.name.replace("_", " ").capitalize())
            where = self._scene.pid, OVERHEAD
            yield complete("overhead", name, where, self._times(start_ns, end_ns), own)

    def _rows(
        self, table: Table, shown: Mask, columns: tuple[Int64 | Int32 | Int8, ...]
    ) -> Iterator[tuple[tuple[int, ...], str]]:
        values = zip(*(column[shown].tolist() for column in columns), strict=True)
        return zip(values, self._scene.rows_of(table, shown), strict=True)

    def _asked_ns(self, start_ns: Int64, call: Int32) -> Int64:
        """Returns when the call that launched each row began; its own start if the call is not known."""
        return np.where(call >= 0, np.append(self._api.start_ns, -1)[call], start_ns)

    def _times(self, start_ns: int, end_ns: int) -> tuple[str, str]:
        return self._scene.time(start_ns), micros(end_ns - start_ns)

    def _on(self, device: int, context: int, stream: int) -> str:
        return f'"device":{max(device, 0)},"context":{context},"stream":{stream},'

    def _ids(self, correlation: int, number: int) -> str:
        key = "external id" if self._scene.old else "External id"
        fields = f'"{key}":{number},' if number or self._scene.old else ""
        return f'"correlation":{correlation},{fields}' if correlation >= 0 else fields

    def _made_launch(self, device: int, launch: int) -> str:
        """Members of an event's arguments: the launch and its occupancy on this device. Ends in a comma."""
        if launch < 0:
            return ""
        row = {
            name: int(column[launch]) for name, column in self._scene.recording[Launches].columns().items()
        }
        grid, block = ([row[f"{kind}_{axis}"] for axis in "xyz"] for kind in ("grid", "block"))
        fields: dict[str, Any] = {} if row["registers"] < 0 else {"registers per thread": row["registers"]}
        shared_bytes = self._launches.shared_bytes(launch)
        fields |= {} if shared_bytes is None else {"shared memory": shared_bytes}
        blocks, _, _, occupancy = self._launches.of(device, launch)
        if not isnan(blocks):
            warps = blocks * int(np.prod(block)) / self._warp(device)
            fields |= {"blocks per SM": round(blocks, 6), "warps per SM": round(warps, 6)}
        fields |= {"grid": grid, "block": block}
        fields |= {} if isnan(occupancy) else {"est. achieved occupancy %": round(occupancy * 100)}
        return text(fields)[1:-1] + ","

    def _warp(self, device: int) -> int:
        facts = self._devices[device] if 0 <= device < len(self._devices) else None
        threads = facts.get("warp_threads") if isinstance(facts, dict) else None
        return threads if type(threads) is int and threads > 0 else _WARP

    def _arrow(self, call: int, end: tuple[Any, Any, str]) -> Iterator[str]:
        if call >= 0:
            start_ns, thread = int(self._api.start_ns[call]), int(self._api.thread[call])
            begin = self._scene.pid, self._scene.tids[thread], self._scene.time(start_ns)
            if start_ns >= self._scene.base_ns:
                yield arrow("ac2g", next(self._next_arrow), begin, end)


def _where(device: int, stream: int) -> tuple[int, int]:
    return max(device, 0), max(stream, 0)


def _graph(graph: int, node: int) -> str:
    return f'"graph id":{graph},"graph node id":{node},' if graph > 0 else ""


def _copy_name(kind: int, source: int, destination: int) -> str:
    """Kineto's name of a copy: `Memcpy HtoD (Pinned -> Device)`."""
    from_, to = (_memory(number) for number in (source, destination))
    if kind == CopyKind.FILL:
        return f"Memset ({to})"
    words = CopyKind(kind).name.lower().split("_to_") if kind in set(CopyKind) else []
    short = "to".join(_SHORT[word] for word in words) if len(words) > 1 else "Unknown"
    return f"Memcpy {short} ({from_} -> {to})"


def _memory(number: int) -> str:
    known = MemoryKind(number) if number in set(MemoryKind) else MemoryKind.UNKNOWN
    return known.name.replace("_", " ").title()
