"""Reads a trace as a `Recording`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from perfprobe.models.chrome import DEVICE_FACTS, NO_STREAM
from perfprobe.read.kineto import others
from perfprobe.read.kineto.arrows import FORWARD_TO_BACKWARD
from perfprobe.read.kineto.chunks import LARGEST_BYTES, Chunks, is_trace
from perfprobe.read.kineto.device import DeviceReader
from perfprobe.read.kineto.event import Events
from perfprobe.read.kineto.losses import losses
from perfprobe.read.kineto.names import Names
from perfprobe.read.kineto.operators import OperatorReader
from perfprobe.read.kineto.own import own, streamed
from perfprobe.read.kineto.unread import UnreadDevices
from perfprobe.support.errors import InputError
from perfprobe.tables import storage
from perfprobe.tables.columns import Table, distinct
from perfprobe.tables.gpu import MOST_DEVICES, Copies, Kernels
from perfprobe.tables.opened import OpenedFile
from perfprobe.tables.recording import Recording

_OPERATORS = ("cpu_op", "operator")
_OLD = {"Operator", "Kernel", "Runtime"}  # categories of 2021, as they are written
# Not needed, other events say the same: arrows, spans around the whole trace.
_KNOWN = ("ac2g", "async", "fwdbwd", "")
_HEAD_BYTES = 64
_SAME_NS = 10  # Kineto of 2025 lets them begin 1 ns early
_LONGEST_CATEGORY = 40
_DISTRIBUTED = ("backend", "rank", "world_size", "nccl_version")


def is_file(file: OpenedFile) -> bool:
    """Whether a file begins like a trace; False if it cannot be read."""
    try:
        return is_trace(file.at(0, _HEAD_BYTES))
    except OSError:
        return False


def read(path: str | os.PathLike[str] | OpenedFile, largest_bytes: int = LARGEST_BYTES) -> Recording:
    """Reads a trace, compressed with gzip or not.

    largest_bytes: the largest size of a trace, after it was expanded.

    Raises InputError if it is unreadable, not a trace, or larger.
    """
    file = path if isinstance(path, OpenedFile) else storage.opened(path)
    try:
        with file.stream() as stream:
            chunks = Chunks(stream, file.name, largest_bytes)
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
        self._unread = UnreadDevices()
        self._adders: list[Callable[[Events], int | None]] = []
        self._kinds: dict[str, int] = {}  # of each category the place in `_adders`
        self._unusable = self._events = self._whole = 0
        self._processes: Counter[int] = Counter()  # operators of each
        self._span: tuple[int, int] | None = None  # of the profiler itself
        self._annotation: tuple[int, int] | None = None  # the first range on a stream
        for events in chunks:
            self._add_all(events)
        self._adders.clear()  # methods of this object: with them it would stay in memory until a collection
        if not self._events:
            raise self._nothing()

    def _nothing(self) -> InputError:
        """What is wrong with a file without events that are read."""
        chunks, what = self._chunks, "the trace has no events"
        remedy = "write it when something was recorded: prof.export_chrome_trace(FILE)"
        if chunks.stopped is not None:
            what = chunks.stopped
        elif chunks.kind is not None:
            what, remedy = f"this is {chunks.kind}", others.REMEDY
        elif self._whole:
            of = others.what_it_is(chunks.about, self._skipped)
            what, remedy = f"{self._whole:,} events, none of torch.profiler{of}", others.REMEDY
        return InputError(what, self._name, remedy)

    def _add_all(self, events: Events) -> None:
        self._whole += len(events)
        spans = events.take(events.equals("ph", "X"))
        category = spans.each("cat", self._category)
        for kind in distinct(category).tolist():
            self._add_spans(kind, spans.take(category == kind))
        self._unread.add(events, spans)
        marks = events.take(events.equals("ph", "i") & events.equals("name", "[memory]"))
        self._operators.memory.add(marks)
        self._name_threads(events.take(events.equals("ph", "M") & events.equals("name", "thread_name")))
        is_tied = np.logical_or.reduce([events.equals("cat", name) for name in FORWARD_TO_BACKWARD])
        for phase, are_ends in (("s", False), ("f", True)):
            self._operators.arrows.add(events.take(is_tied & events.equals("ph", phase)), are_ends=are_ends)

    def _name_threads(self, events: Events) -> None:
        for thread, name in zip(
            events.codes("tid").tolist(), events.codes("thread_name").tolist(), strict=True
        ):
            self._names.name_thread(events.value(thread), events.value(name))

    def _category(self, value: Any) -> int:
        """Returns the place of a category's function in `_adders`; categories with one function share it."""
        category = value if isinstance(value, str) else ""
        if category not in self._kinds:
            add = self._adder(category.lower()) or self._skip
            if add not in self._adders:
                self._adders.append(add)
            self._kinds[category] = self._adders.index(add)
        return self._kinds[category]

    def _add_spans(self, kind: int, spans: Events) -> None:
        is_read = self._adders[kind](spans)
        if is_read is not None:
            self._events += is_read
            self._unusable += len(spans) - is_read

    def _adder(self, category: str) -> Callable[[Events], int | None] | None:
        """Returns the function that adds events of a category, or None for a category that is not read.

        The function returns how many events were usable; None if there was nothing to add.
        """
        if category in _OPERATORS:
            return self._add_operators
        if category == "user_annotation":
            return self._operators.add_ranges
        if category == "python_function":
            return self._operators.add_python
        if category in ("trace", "gpu_user_annotation"):
            return self._note_span if category == "trace" else self._note_annotation
        return _nothing if category in _KNOWN else self._device.adder(category)

    def _add_operators(self, events: Events) -> int:
        for number, count in _counted(events, "pid"):
            if 0 < number < 1 << 31:
                self._processes[number] += count
        return self._operators.add(events)

    def _skip(self, events: Events) -> None:
        for code, count in _counted(events, "cat"):
            self._skipped[str(events.value(code))[:_LONGEST_CATEGORY]] += count

    def _note_span(self, events: Events) -> None:
        self._span = self._span or _first(events)

    def _note_annotation(self, events: Events) -> None:
        self._annotation = self._annotation or _first(events)

    def _stream_ranges(self, of_device: Sequence[Table]) -> str:
        """Returns how ranges are drawn on streams: exactly from their first kernel on, or padded."""
        if self._annotation is None:
            return "none"
        begin_ns = self._annotation[0]
        starts = (table.columns()["start_ns"] for table in of_device if isinstance(table, Kernels | Copies))
        is_exact = any(bool((abs(start_ns - begin_ns) <= _SAME_NS).any()) for start_ns in starts)
        return "exact" if is_exact else "padded"

    def recording(self) -> Recording:
        """Makes the recording."""
        calls = self._device.call_times()
        operators = self._operators.table(calls)
        lost = losses(self._chunks, self._operators, self._device, self._names, self._skipped, self._unusable)
        of_device = self._device.tables(calls)
        memory = self._operators.memory
        tables = [*of_device, *self._names.tables(), memory.readings(), lost]
        start_ns, stop_ns = self._times([operators, *of_device])
        return Recording(
            path=self._name,
            tables={type(table): table for table in tables},
            meta=self._meta(start_ns, stop_ns, of_device),
            complete=True,
            last_ns=stop_ns,
            stopped_at=None,
            operator_rows=len(operators),
            source=streamed(operators),
            memory=memory.blocks(),
        )

    def _module_calls(self) -> list[int]:
        """Returns how often each row of `Modules` was called."""
        return [self._names.module_calls[row] for row in range(len(self._names.modules))]

    def _times(self, tables: Sequence[Table]) -> tuple[int, int]:
        """Returns start and end of the recording: the profiler's own span, else of the events."""
        starts = [int(table.columns()["start_ns"].min()) for table in tables if len(table)]
        ends = [int(table.columns()["end_ns"].max()) for table in tables if len(table)]
        if self._span is not None:
            return min(self._span[0], *starts, self._span[0]), max(self._span[1], *ends, self._span[1])
        return (min(starts), max(ends)) if starts else (0, 0)

    def _meta(self, start_ns: int, stop_ns: int, of_device: Sequence[Table]) -> dict[str, Any]:
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
                "categories": "today's" if _OLD.isdisjoint(self._kinds) else "old",
                "stream_ranges": self._stream_ranges(of_device),
                "shapes": self._operators.with_shapes > 0,
                **({"no_stream": NO_STREAM} if self._device.has_no_stream else {}),
                **self._unread.meta(self._skipped),
            },
            "program": program,
            "start": {"monotonic_ns": start_ns},
            "stop": {"monotonic_ns": stop_ns},
            "roots": self._names.roots(),
            **({"module_calls": self._module_calls()} if self._names.module_calls else {}),
            "recording": {"memory": len(self._operators.memory) > 0, "ranges": True},
            **self._operators.memory.meta(),
            "gpu": {"devices": _devices(devices)},
            **self._operators.generated.meta(),
        }


def _nothing(_: Events) -> None:
    return None


def _counted(events: Events, name: str) -> Iterator[tuple[int, int]]:
    """Yields each number of an entry, and how many events have it."""
    group, known = events.groups(name)
    return zip((code for (code,) in known), np.bincount(group).tolist(), strict=True)


def _first(events: Events) -> tuple[int, int] | None:
    """Returns start and end of the first event that has times."""
    start_ns, end_ns, usable = events.spans()
    at = np.flatnonzero(usable)
    return (int(start_ns[at[0]]), int(end_ns[at[0]])) if len(at) else None


def _devices(devices: Any) -> list[dict[str, Any] | None]:
    """Returns the facts about each device, indexed by its number, under the names of our own recordings."""
    listed = [entry for entry in devices if isinstance(entry, dict)] if isinstance(devices, list) else []
    known = {
        number: {own: entry[name] for own, name in DEVICE_FACTS.items() if name in entry}
        for entry in listed
        if type(number := entry.get("id")) is int and 0 <= number < MOST_DEVICES
    }
    return [known.get(number) for number in range(max(known, default=-1) + 1)]
