"""Reads a trace as a `Recording`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from perfprobe.models.chrome import DEVICE_FACTS, NO_STREAM
from perfprobe.read.kineto.arrows import FORWARD_TO_BACKWARD
from perfprobe.read.kineto.chunks import Chunks, is_trace
from perfprobe.read.kineto.device import DeviceReader
from perfprobe.read.kineto.event import NO_FACTS, Event, span_ns
from perfprobe.read.kineto.losses import losses
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.operators import OperatorReader
from perfprobe.read.kineto.own import own, streamed
from perfprobe.support.errors import InputError
from perfprobe.tables import storage
from perfprobe.tables.events import Operators
from perfprobe.tables.opened import OpenedFile
from perfprobe.tables.recording import Recording

_OPERATORS = ("cpu_op", "operator")
_OLD = {"Operator", "Kernel", "Runtime"}  # categories of 2021, as they are written
# Not needed, other events say the same: arrows, spans around the whole trace.
_KNOWN = ("ac2g", "async", "fwdbwd", "")
_ARROWS = ("s", "t", "f")
_HEAD_BYTES = 64
_SAME_NS = 10  # Kineto of 2025 lets them begin 1 ns early
_MOST_DEVICES = 256
_DISTRIBUTED = ("backend", "rank", "world_size", "nccl_version")


def is_file(file: OpenedFile) -> bool:
    """Whether a file begins like a trace; False if it cannot be read."""
    try:
        return is_trace(file.at(0, _HEAD_BYTES))
    except OSError:
        return False


def read(path: str | os.PathLike[str] | OpenedFile) -> Recording:
    """Reads a trace, compressed with gzip or not. Raises InputError if it is unreadable or not a trace."""
    file = path if isinstance(path, OpenedFile) else storage.opened(path)
    try:
        with file.stream() as stream:
            chunks = Chunks(stream, file.name)
            return own(file.name, chunks) if chunks.own else _Reading(file.name, chunks).recording()
    except OSError as error:
        raise InputError(f"cannot read the trace: {error.strerror or error}", file.name) from error


class _Reading:
    """Passes all events of a file to their readers."""

    def __init__(self, name: str, chunks: Chunks) -> None:
        self._name, self._chunks = name, chunks
        self._names = Names()
        self._operators = OperatorReader(self._names)
        self._device = DeviceReader(self._names, self._operators.generated)
        self._skipped: Counter[str] = Counter()
        self._adders: dict[str, Callable[[Event], bool | None] | None] = {}
        self._unusable = self._events = 0
        self._processes: dict[int, int] = {}  # operators of each
        self._span: tuple[int, int] | None = None  # of the profiler itself
        self._annotation: tuple[int, int] | None = None  # the first range on a stream
        for events in chunks:
            self._add_all(events)
        if not self._events:
            what = "the trace has no events" if chunks.stopped is None else chunks.stopped
            raise InputError(
                what, name, "write it when something was recorded: prof.export_chrome_trace(FILE)"
            )

    def _add_all(self, events: list[Event]) -> None:
        for event in events:
            phase = event.ph
            if phase == "X":
                self._add_span(event)
            elif phase not in _ARROWS:
                self._add_mark(event)
            elif event.cat in FORWARD_TO_BACKWARD:
                self._operators.arrows.add(event)

    def _add_mark(self, event: Event) -> None:
        if event.ph == "i" and event.name == "[memory]":
            self._operators.add_allocation(event)
        elif event.ph == "M" and event.name == "thread_name":
            self._names.name_thread(event.tid, (event.args or NO_FACTS).name)

    def _add_span(self, event: Event) -> None:
        category = event.cat
        if not isinstance(category, str):
            category = ""
        try:
            add = self._adders[category]
        except KeyError:
            add = self._adders[category] = self._adder(category.lower())
        if add is None:
            self._skipped[category[:40]] += 1
            return
        is_read = add(event)
        if is_read is not None:
            self._events += is_read
            self._unusable += not is_read

    def _adder(self, category: str) -> Callable[[Event], bool | None] | None:
        """Returns the function that adds events of a category, or None for a category that is not read.

        The function returns whether the event was usable; None if there was nothing to add.
        """
        if category in _OPERATORS:
            return self._add_operator
        if category == "user_annotation":
            return self._operators.add_range
        if category == "python_function":
            return self._operators.add_python
        if category in ("trace", "gpu_user_annotation"):
            return self._note_span if category == "trace" else self._note_annotation
        return _nothing if category in _KNOWN else self._device.adder(category)

    def _add_operator(self, event: Event) -> bool:
        process = event.pid
        if type(process) is int and 0 < process < 1 << 31:
            processes = self._processes
            processes[process] = processes.get(process, 0) + 1
        return self._operators.add(event)

    def _note_span(self, event: Event) -> None:
        self._span = self._span or span_ns(event)

    def _note_annotation(self, event: Event) -> None:
        self._annotation = self._annotation or span_ns(event)

    def _stream_ranges(self) -> str:
        """Returns how ranges are drawn on streams: exactly from their first kernel on, or padded."""
        if self._annotation is None:
            return "none"
        begin_ns = self._annotation[0]
        starts = (rows.table().columns()["start_ns"] for rows in (self._device.kernels, self._device.copies))
        is_exact = any(bool((abs(start_ns - begin_ns) <= _SAME_NS).any()) for start_ns in starts)
        return "exact" if is_exact else "padded"

    def recording(self) -> Recording:
        """Makes the recording."""
        operators = self._operators.table()
        lost = losses(self._chunks, self._operators, self._device, self._names, self._skipped, self._unusable)
        tables = [*self._device.tables(), *self._names.tables(), lost]
        start_ns, stop_ns = self._times(operators)
        return Recording(
            path=self._name,
            tables={type(table): table for table in tables},
            meta=self._meta(start_ns, stop_ns),
            complete=True,
            last_ns=stop_ns,
            stopped_at=None,
            operator_rows=len(operators),
            source=streamed(operators),
        )

    def _module_calls(self) -> list[int]:
        """Returns how often each row of `Modules` was called."""
        return [self._names.module_calls[row] for row in range(len(self._names.modules))]

    def _times(self, operators: Operators) -> tuple[int, int]:
        """Returns start and end of the recording: the profiler's own span, else of the events."""
        tables = [operators, *(table for table in self._device.tables())]
        starts = [int(table.columns()["start_ns"].min()) for table in tables if len(table)]
        ends = [int(table.columns()["end_ns"].max()) for table in tables if len(table)]
        if self._span is not None:
            return min(self._span[0], *starts, self._span[0]), max(self._span[1], *ends, self._span[1])
        return (min(starts), max(ends)) if starts else (0, 0)

    def _meta(self, start_ns: int, stop_ns: int) -> dict[str, Any]:
        about, processes = self._chunks.about, self._processes
        process = {"pid": max(processes, key=lambda pid: processes[pid])} if processes else {}
        program = {"argv": [os.path.basename(self._name)], **process}
        devices = about.get("deviceProperties")
        distributed = about.get("distributedInfo")
        distributed = distributed if isinstance(distributed, dict) else {}
        return {
            "trace": {
                **{key: distributed[key] for key in _DISTRIBUTED if key in distributed},
                "python_calls": self._operators.python_calls,
                "categories": "today's" if _OLD.isdisjoint(self._adders) else "old",
                "stream_ranges": self._stream_ranges(),
                **({"no_stream": NO_STREAM} if self._device.has_no_stream else {}),
            },
            "program": program,
            "start": {"monotonic_ns": start_ns},
            "stop": {"monotonic_ns": stop_ns},
            "roots": self._names.roots(),
            **({"module_calls": self._module_calls()} if self._names.module_calls else {}),
            "recording": {"memory": self._operators.allocations > 0, "ranges": True},
            "gpu": {"devices": _devices(devices)},
            **self._operators.generated.meta(),
        }


def _nothing(_: Event) -> None:
    return None


def _devices(devices: Any) -> list[dict[str, Any] | None]:
    """Returns the facts about each device, indexed by its number, under the names of our own recordings."""
    listed = [entry for entry in devices if isinstance(entry, dict)] if isinstance(devices, list) else []
    known = {
        number: {own: entry[name] for own, name in DEVICE_FACTS.items() if name in entry}
        for entry in listed
        if type(number := entry.get("id")) is int and 0 <= number < _MOST_DEVICES
    }
    return [known.get(number) for number in range(max(known, default=-1) + 1)]
