"""Reads the memory events of a trace: allocations and frees on the CPU, or on the GPU that had most."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from perfprobe.read.kineto.event import FIRST_TEXT, NONE, Events
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.rows import narrowed
from perfprobe.tables.columns import Int64, Rows
from perfprobe.tables.device_memory import DeviceReadings
from perfprobe.tables.memory import MemoryBlocks, MemoryEvent, MemoryRows
from perfprobe.tables.threads import each_thread

_CPU = -1  # in place of a device
_ALIGNED_BITS = 4  # see `MemoryRows`
_BLOCK_ROWS = 262_144
_MOST_DEVICES = 64
# Columns of an event: time, thread, device, bytes (negative if freed), address, what the device then held and
# had reserved. -1 for what a trace does not have.
_TIME, _THREAD, _DEVICE, _BYTES, _ADDRESS, _HELD, _RESERVED = range(7)


class MemoryReader:
    """Collects memory events, in any order. Only those of one device count: see `device`."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._values = array("q")
        self._sorted: Int64 | None = None
        self._of_threads: dict[int, Rows] | None = None

    def __len__(self) -> int:
        return len(self._values) // 7 if self._sorted is None else self._sorted.shape[1]

    def add(self, events: Events) -> None:
        """Adds events."""
        at_ns, size_bytes = events.times("ts"), events.codes("allocated_bytes")
        thread = events.each("tid", self._names.thread)
        usable = np.flatnonzero((at_ns != NONE) & (thread >= 0) & (size_bytes > FIRST_TEXT))
        is_gpu = events.numbers("memory_kind") > 0
        device = np.where(is_gpu, np.minimum(events.numbers("memory_device"), _MOST_DEVICES), _CPU)
        others = (events.numbers(name) for name in ("address", "held_bytes", "reserved_bytes"))
        columns = np.stack([at_ns, thread, device, size_bytes, *others], axis=1)
        self._values.frombytes(columns[usable].astype(np.int64).tobytes())

    @property
    def _rows(self) -> Int64:
        """All events by time, one a column. At one time frees come first."""
        if self._sorted is None:
            rows = np.frombuffer(self._values, np.int64).reshape(-1, 7).T
            self._sorted = rows[:, np.lexsort((rows[_BYTES], rows[_TIME]))]
            self._values = array("q")
        return self._sorted

    @cached_property
    def device(self) -> int | None:
        """The GPU on which most bytes were allocated; None for the CPU, if there are no events of GPUs."""
        rows = self._rows
        on_gpus = rows[:, (rows[_DEVICE] >= 0) & (rows[_BYTES] > 0)]
        if on_gpus.shape[1] == 0:
            return None
        allocated_bytes = np.bincount(on_gpus[_DEVICE], weights=on_gpus[_BYTES])
        return int(np.argmax(allocated_bytes))

    @cached_property
    def _own(self) -> Int64:
        rows, device = self._rows, self.device
        is_own = rows[_DEVICE] == (_CPU if device is None else device)
        return rows if bool(is_own.all()) else rows[:, is_own]

    def left_out(self) -> int:
        """The number of events of other devices."""
        return len(self) - len(self._own[_TIME])

    def of_thread(self, thread: int) -> tuple[Int64, Int64] | None:
        """Times and sizes of a thread's events; None if the trace has no memory events."""
        if len(self) == 0:
            return None
        if self._of_threads is None:
            self._of_threads = dict(each_thread(self._own[_THREAD]))
        rows = self._of_threads.get(thread, np.empty(0, np.intp))
        return self._own[_TIME, rows], self._own[_BYTES, rows]

    def blocks(self) -> MemoryBlocks | None:
        """The rows of `MemoryRows`; None if the trace has no addresses."""
        rows = self._own
        if rows.shape[1] == 0 or bool((rows[_ADDRESS] < 0).any()):
            return None
        is_freed = rows[_BYTES] < 0
        made: dict[str, Callable[[], Int64]] = {  # one after the other, because each is copied
            "time_ns": lambda: rows[_TIME],
            "thread": lambda: rows[_THREAD],
            "event": lambda: np.where(is_freed, MemoryEvent.FREED, MemoryEvent.ALLOCATED),
            "storage": lambda: rows[_ADDRESS] >> _ALIGNED_BITS,
            "size_bytes": lambda: np.where(is_freed, -1, rows[_BYTES]),
            "stack": lambda: np.full(rows.shape[1], -1, np.int64),
        }
        kinds = MemoryRows.dtypes.items()
        whole = MemoryRows(**{name: narrowed(made[name](), kind) for name, kind in kinds})
        starts = range(0, rows.shape[1], _BLOCK_ROWS)
        return MemoryBlocks.of(*(whole.take(slice(at, at + _BLOCK_ROWS)) for at in starts))

    def readings(self) -> DeviceReadings:
        """Returns what GPUs held after each event."""
        rows = self._rows
        rows = rows[:, (rows[_DEVICE] >= 0) & (rows[_HELD] >= 0) & (rows[_RESERVED] >= 0)]
        peaks = np.zeros((2, rows.shape[1]), np.int64)
        for device in np.unique(rows[_DEVICE]).tolist():
            own = np.flatnonzero(rows[_DEVICE] == device)
            for place, column in enumerate((_HELD, _RESERVED)):
                peaks[place, own] = np.maximum.accumulate(rows[column, own])
        values = (rows[_TIME], rows[_DEVICE], rows[_HELD], rows[_RESERVED], *peaks)
        values = (*values, np.full(rows.shape[1], -1, np.int64))
        pairs = zip(DeviceReadings.dtypes.items(), values, strict=True)
        return DeviceReadings(**{name: narrowed(column, kind) for (name, kind), column in pairs})

    def before_bytes(self) -> int | None:
        """Returns what the device held before the first event; None if that is not known."""
        rows = self._own
        if rows.shape[1] == 0:
            return None
        held_bytes, size_bytes = int(rows[_HELD, 0]), int(rows[_BYTES, 0])
        return max(held_bytes - size_bytes, 0) if held_bytes >= 0 else None

    def meta(self) -> dict[str, Any]:
        """The meta value `memory`; none without events."""
        if len(self) == 0:
            return {}
        device, before_bytes = self.device, self.before_bytes()
        on_gpu = {} if device is None else {"device": device}
        return {"memory": {"source": "trace", **on_gpu, "before_bytes": before_bytes}}
