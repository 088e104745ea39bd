"""The timeline of some stretches of time: rectangles on lanes of threads and of streams of GPUs.

All operators are read once. Of each stretch at most `MOST` rectangles are kept, the longest, so memory and
the page are bounded; how many are left out is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from perfprobe.report import shorten
from perfprobe.report.page.packed import Packed, Texts, shown
from perfprobe.report.page.places import Places
from perfprobe.report.page.stretches import Stretch
from perfprobe.report.section.gpu.names import shortened
from perfprobe.support import units
from perfprobe.tables.columns import Int64, Mask, Rows
from perfprobe.tables.events import LinkedOperators, Threads
from perfprobe.tables.gpu import ApiCalls, Copies, CopyKind, Kernels
from perfprobe.tables.python import Samples
from perfprobe.tables.scopes import BACKWARD_FUNCTION, USER_SCOPE
from perfprobe.tables.steps import EventKind, StepTimes
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace, shown_name

MOST = 25_000  # rectangles of a stretch
DEEPEST = 64  # lanes of a thread
KINDS = (*(phase.name.lower() for phase in Phase), "range", "call", "copy", "python")
_RANGE, _CALL, _COPY, _PYTHON = (KINDS.index(kind) for kind in ("range", "call", "copy", "python"))
_LONGEST_NAME, _LONGEST_INPUTS = 200, 160
_CALLS, _LINE_BITS = 1 << 60, 20  # keys of calls of CUDA begin here; bits of a line's number in others
_OF_THREAD = ("Python lines of ", "", "CUDA calls of ")
_EVENTS = {
    EventKind.NEXT: ("data", int(Phase.DATA)),
    EventKind.CALL: ("forward", int(Phase.FORWARD)),
    EventKind.BACKWARD: ("backward", int(Phase.BACKWARD)),
    EventKind.OPTIMIZER: ("optimizer", int(Phase.OPTIMIZER)),
}


class Group(NamedTuple):
    """What lanes belong to. order: groups are shown by it."""

    order: tuple[int, int, int]
    title: str


class Rects(NamedTuple):
    """Rectangles of one group. depth: their lane in it.

    key, source: a rectangle was caused by the one whose key is its source; -1 for none.
    """

    depth: Int64
    start_ns: Int64
    end_ns: Int64
    self_ns: Int64
    name: Int64
    inputs: Int64
    line: Int64
    kind: Int64
    key: Int64
    source: Int64

    def take(self, rows: Rows | Mask) -> Rects:
        """Some of the rectangles."""
        return Rects(*(column[rows] for column in self))


def joined(parts: Sequence[Rects]) -> Rects:
    """All rectangles of several parts."""
    return Rects(*(np.concatenate(columns).astype(np.int64) for columns in zip(*parts, strict=True)))


def joined_lengths(parts: Iterable[Rects]) -> Int64:
    """The lengths of all rectangles."""
    return np.concatenate([np.empty(0, np.int64), *(part.end_ns - part.start_ns for part in parts)])


class Timeline:
    """The rectangles of all stretches."""

    def __init__(
        self,
        trace: Trace,
        times: StepTimes | None,
        places: Places,
        stretches: Sequence[Stretch],
        texts: tuple[Texts, Texts] | None = None,
    ) -> None:
        """texts: names and inputs, shared with the timeline of another recording."""
        self._trace, self._times, self._places = trace, times, places
        self._stretches = [_known(each, trace) for each in stretches]
        self._strings = trace.recording[Strings]
        self.names, self.inputs = texts or (Texts(), Texts())
        self._groups: list[dict[Group, list[Rects]]] = [{} for _ in stretches]
        self._left_out = [0] * len(stretches)
        self._name: Callable[[int, int], int] = lru_cache(1 << 16)(self._made_name)
        self._kernel: Callable[[int], int] = lru_cache(1 << 16)(self._made_kernel)
        self._input: Callable[[int], int] = lru_cache(1 << 16)(self._made_input)

    def packed(self, packed: Packed) -> list[dict[str, Any]]:
        """The stretches with their rectangles."""
        for batch in self._trace.operators(with_memory=False):
            for at, stretch in enumerate(self._stretches):
                self._add_operators(at, batch.take(_within(stretch, batch.start_ns, batch.end_ns)))
        for at, stretch in enumerate(self._stretches):
            self._add_events(at, stretch)
            self._add_samples(at, stretch)
            self._add_device(at, stretch)
        return [self._packed(packed, at) for at in range(len(self._stretches))]

    def _add_operators(self, at: int, rows: LinkedOperators) -> None:
        for thread in dict.fromkeys(rows.thread.tolist()):
            some = rows.take(np.flatnonzero(rows.thread == thread))
            names = zip(some.name.tolist(), some.overload.tolist(), strict=True)
            lines = _numbers(self._places.of_frames(self._trace, some.frame))
            found = Rects(
                np.minimum(some.depth, DEEPEST - 1).astype(np.int64),
                some.start_ns,
                some.end_ns,
                np.maximum(some.self_ns, some.python_ns),
                _numbers([self._name(*each) for each in names]),
                _numbers([self._input(signature) for signature in some.signature.tolist()]),
                lines,
                np.where(some.scope == USER_SCOPE, _RANGE, some.phase).astype(np.int64),
                *_autograd(some, lines),
            )
            self._add(at, self._thread_group(thread, 1), found)

    def _thread_group(self, thread: int, what: int) -> Group:
        """The lanes of a thread, which collectors know by different rows. what: one of `_OF_THREAD`."""
        name, number = self._thread(thread)
        leading = None if self._times is None or not len(self._times.loops) else self._times.loops.thread[0]
        is_leading = leading is not None and self._thread(int(leading))[1] == number
        title = f"thread {number}{f' {name}' if name else ''}"
        return Group((0 if is_leading else 1, number, what), f"{_OF_THREAD[what]}{title}")

    def _thread(self, thread: int) -> tuple[str, int]:
        """Its name, and the system's number; else that of its row."""
        threads = self._trace.recording[Threads]
        if not 0 <= thread < len(threads):
            return "", thread
        number = int(threads.os_thread[thread])
        return shown(self._strings[int(threads.name[thread])], 40), number if number >= 0 else thread

    def _add_events(self, at: int, stretch: Stretch) -> None:
        events = None if self._times is None else self._times.events
        if events is None or len(events) == 0:
            return
        rows = events.take(_within(stretch, events.start_ns, events.end_ns))
        known = [_EVENTS[EventKind(kind)] for kind in rows.kind.tolist()]
        none = np.full(len(rows), -1, np.int64)
        names = _numbers([self.names.number(name) for name, _ in known])
        kinds = _numbers([kind for _, kind in known])
        depth = np.zeros(len(rows), np.int64)
        found = Rects(depth, rows.start_ns, rows.end_ns, none, names, none, none, kinds, none, none)
        self._add(at, Group((-1, 0, 0), "parts of the step"), found)

    def _add_samples(self, at: int, stretch: Stretch) -> None:
        """The program's line by samples: one rectangle as long as it stays the same."""
        samples = self._trace.recording[Samples]
        rows = samples.take(_within(stretch, samples.start_ns, samples.end_ns) & (samples.stack >= 0))
        frames = self._trace.sites.frame[rows.stack]
        for thread in dict.fromkeys(rows.thread.tolist()):
            own = np.flatnonzero((rows.thread == thread) & (frames >= 0))
            own = own[np.argsort(rows.start_ns[own], kind="stable")]
            if len(own) == 0:
                continue
            lines = _numbers(self._places.of_frames(self._trace, frames[own]))
            is_first = np.append(
                True, (lines[1:] != lines[:-1]) | (rows.start_ns[own[1:]] > rows.end_ns[own[:-1]])
            )
            first = np.flatnonzero(is_first)
            last = np.append(first[1:], len(own)) - 1
            names = _numbers(
                [self.names.number(self._function(frame)) for frame in frames[own[first]].tolist()]
            )
            depth, none = np.zeros(len(first), np.int64), np.full(len(first), -1, np.int64)
            kind = np.full(len(first), _PYTHON, np.int64)
            times = rows.start_ns[own[first]], rows.end_ns[own[last]]
            found = Rects(depth, *times, none, names, none, lines[first], kind, none, none)
            self._add(at, self._thread_group(thread, 0), found)

    def _function(self, frame: int) -> str:
        line = self._trace.line(frame)
        return "" if line is None else f"{shown(line.function, _LONGEST_NAME)}:{line.line}"

    def _add_device(self, at: int, stretch: Stretch) -> None:
        recording, links = self._trace.recording, self._trace.gpu
        api = recording[ApiCalls]
        chosen = np.flatnonzero(_within(stretch, api.start_ns, api.end_ns))
        for thread in dict.fromkeys(api.thread[chosen].tolist()):
            own = chosen[api.thread[chosen] == thread]
            names = [self._name(name, -1) for name in api.name[own].tolist()]
            self._add(at, self._thread_group(thread, 2), self._on_device(api, own, names, None, _CALL))
        if links is None:
            return
        for table, calls in ((recording[Kernels], links.kernel_call), (recording[Copies], links.copy_call)):
            chosen = np.flatnonzero(_within(stretch, table.start_ns, table.end_ns))
            streams = list(zip(table.device[chosen].tolist(), table.stream[chosen].tolist(), strict=True))
            for device, stream in dict.fromkeys(streams):
                own = chosen[(table.device[chosen] == device) & (table.stream[chosen] == stream)]
                group = Group((2, device, stream), f"GPU {device} stream {stream}")
                if isinstance(table, Kernels):
                    names = [self._kernel(name) for name in table.name[own].tolist()]
                    self._add(at, group, self._on_device(table, own, names, calls[own], -1))
                else:
                    names = [self.names.number(_copy_name(kind)) for kind in table.kind[own].tolist()]
                    self._add(at, group, self._on_device(table, own, names, calls[own], _COPY))

    def _on_device(
        self, table: Kernels | Copies | ApiCalls, own: Rows, names: list[int], calls: Any, kind: int
    ) -> Rects:
        """Rectangles of a GPU's work, or of calls of CUDA. kind: -1 for the phase of the operator."""
        start_ns, end_ns = table.start_ns[own], table.end_ns[own]
        lines = kinds = np.full(len(own), -1, np.int64)
        if calls is not None and self._trace.gpu is not None and len(self._trace.gpu.sites):
            sites, known = self._trace.gpu.sites, np.maximum(calls, 0)
            frames = np.where(calls >= 0, sites.frame[known], -1).astype(np.int32)
            lines = _numbers(self._places.of_frames(self._trace, frames))
            kinds = np.where(calls >= 0, sites.phase[known], int(Phase.OTHER)).astype(np.int64)
        kinds = np.maximum(kinds, 0) if kind < 0 else np.full(len(own), kind, np.int64)
        none = np.full(len(own), -1, np.int64)
        depth = np.zeros(len(own), np.int64)
        key = own + _CALLS if calls is None else none
        source = none if calls is None else np.where(calls >= 0, calls.astype(np.int64) + _CALLS, -1)
        self_ns = end_ns - start_ns
        return Rects(depth, start_ns, end_ns, self_ns, _numbers(names), none, lines, kinds, key, source)

    def _add(self, at: int, group: Group, rects: Rects) -> None:
        """Keep the rectangles; if there are too many, only the longest."""
        if len(rects.start_ns) == 0:
            return
        groups = self._groups[at]
        groups.setdefault(group, []).append(rects)
        if sum(len(part.start_ns) for parts in groups.values() for part in parts) > 2 * MOST:
            self._shorten(at)

    def _shorten(self, at: int) -> None:
        """Keep the longest, at most `MOST`."""
        groups = {group: joined(parts) for group, parts in self._groups[at].items()}
        lengths = joined_lengths(groups.values())
        if len(lengths) <= MOST:
            return
        kept = np.zeros(len(lengths), np.bool_)
        kept[np.argpartition(lengths, len(lengths) - MOST)[len(lengths) - MOST :]] = True
        self._left_out[at] += len(lengths) - MOST
        ends = np.cumsum([len(part.start_ns) for part in groups.values()])[:-1]
        shown = zip(groups.items(), np.split(kept, ends), strict=True)
        self._groups[at] = {group: [part.take(mask)] for (group, part), mask in shown if bool(mask.any())}

    def _packed(self, packed: Packed, at: int) -> dict[str, Any]:
        self._shorten(at)
        stretch, parts = self._stretches[at], []
        lanes: list[tuple[str, int]] = []
        for group in sorted(self._groups[at]):
            rects = joined(self._groups[at][group])
            parts.append(rects._replace(depth=rects.depth + sum(lane[1] for lane in lanes)))
            lanes.append((group.title, int(rects.depth.max()) + 1))
        found = joined(parts) if parts else None
        return {
            "what": stretch.what,
            "step": stretch.step,
            "number": stretch.number,
            "length": stretch.end_ns - stretch.start_ns,
            "took": units.duration(stretch.end_ns - stretch.start_ns),
            "left_out": self._left_out[at],
            "lanes": lanes,
            "rects": {} if found is None else _columns(packed, found, stretch),
        }

    def _made_name(self, name: int, overload: int) -> int:
        text = shown(shown_name(self._strings[name], narrow=True), _LONGEST_NAME)
        more = self._strings[overload] if overload >= 0 else ""
        return self.names.number(f"{text}.{shown(more, _LONGEST_NAME)}" if more else text)

    def _made_kernel(self, name: int) -> int:
        return self.names.number(shown(shortened(self._strings[name]), _LONGEST_NAME))

    def _made_input(self, signature: int) -> int:
        text = self._trace.signature(signature)
        return self.inputs.number(shown(shorten.signature(text), _LONGEST_INPUTS)) if text else -1


def _columns(packed: Packed, rects: Rects, stretch: Stretch) -> dict[str, Any]:
    """The columns, in order of lane and time. Starts are differences within a lane: these compress best."""
    start_ns = np.maximum(rects.start_ns, stretch.start_ns) - stretch.start_ns
    end_ns = np.minimum(rects.end_ns, stretch.end_ns) - stretch.start_ns
    order = np.lexsort((-end_ns, start_ns, rects.depth))
    start_ns, end_ns, rects = start_ns[order], end_ns[order], rects.take(order)
    is_first = np.append(True, rects.depth[1:] != rects.depth[:-1])
    steps_ns = np.diff(start_ns, prepend=0)
    return {
        "lane": packed.column(rects.depth),
        "start": packed.column(np.where(is_first, start_ns, steps_ns)),
        "length": packed.column(np.maximum(end_ns - start_ns, 0)),
        "self": packed.column(np.maximum(rects.self_ns, 0)),
        "name": packed.column(rects.name),
        "inputs": packed.column(rects.inputs + 1),
        "line": packed.column(rects.line + 1),
        "kind": packed.column(rects.kind),
        "source": packed.column(_sources(rects) + 1),
    }


def _autograd(rows: LinkedOperators, lines: Int64) -> tuple[Int64, Int64]:
    """Keys and sources by which nodes of backward find their forward call.

    Sequence numbers are those of a thread, so the line must be the same too.
    """
    known = (rows.sequence >= 0) & (rows.sequence < _CALLS >> _LINE_BITS) & (lines >= 0)
    key = np.where(known, (rows.sequence << _LINE_BITS) + lines, -1)
    is_node = rows.scope == BACKWARD_FUNCTION
    is_forward = ~is_node & (rows.phase != int(Phase.BACKWARD))
    return np.where(is_forward, key, -1), np.where(is_node, key, -1)


def _sources(rects: Rects) -> Int64:
    """The rectangle that caused each one, -1 if it is none of these."""
    known: dict[int, int] = {}
    for at in np.flatnonzero(rects.key >= 0).tolist():
        known.setdefault(int(rects.key[at]), at)
    return _numbers([known.get(source, -1) for source in rects.source.tolist()])


def _known(stretch: Stretch, trace: Trace) -> Stretch:
    """The stretch; of a recording that does not say when it began, from its first to its last operator."""
    if stretch.end_ns > stretch.start_ns:
        return stretch
    first, last = [], []
    for start_ns, end_ns in _all_times(trace):
        usable = (start_ns >= 0) & (end_ns >= start_ns)
        if bool(usable.any()):
            first.append(int(start_ns[usable].min()))
            last.append(int(end_ns[usable].max()))
    return stretch._replace(start_ns=min(first, default=0), end_ns=max(last, default=1))


def _all_times(trace: Trace) -> Iterator[tuple[Int64, Int64]]:
    for table in (trace.recording[Kernels], trace.recording[Copies], trace.recording[ApiCalls]):
        yield table.start_ns, table.end_ns
    for batch in trace.operators(with_memory=False):
        yield batch.start_ns, batch.end_ns


def _within(stretch: Stretch, start_ns: Int64, end_ns: Int64) -> Mask:
    """Which events are at least in part in the stretch, and have times."""
    usable = (start_ns >= 0) & (end_ns >= start_ns)
    return np.asarray(usable & (start_ns < stretch.end_ns) & (end_ns > stretch.start_ns))


def _numbers(values: Sequence[int]) -> Int64:
    return np.array(values, np.int64)


def _copy_name(kind: int) -> str:
    known = CopyKind(kind) if kind in set(CopyKind) else None
    return "copy" if known is None else f"copy {known.name.lower().replace('_', ' ')}"
