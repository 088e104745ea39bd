"""What all events share: names, processes and threads, the clock, and the window that is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from perfprobe.models.chrome import ENTRY, EVENTS, columns
from perfprobe.tables.columns import Int32, Int64, Mask, Table
from perfprobe.tables.events import Threads
from perfprobe.tables.gpu import ApiCalls
from perfprobe.tables.python import Samples
from perfprobe.tables.ranges import Ranges
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

NO_PROCESS = 1 << 22  # one more than Linux's largest number
SAMPLES_OF, BESIDE, OVERHEAD = 1 << 24, 1 << 25, 1 << 26  # our own tracks: numbers that no thread has
LONGEST_NS = 1 << 53
_EARLIEST_NS = 60_000_000_000  # times earlier than this before the program's start are damaged
_NAMES_KEPT = 1 << 14


class Span(NamedTuple):
    """An interval of time."""

    start_ns: int
    end_ns: int


class Scene:
    """One recording as it is written to a file.

    window: the time that is written, None for all. base_ns: the time 0 of the file. old: whether the
    recording was read from a trace with the categories of 2021. They are kept, because the TensorBoard plugin
    knows calls of CUDA only by those. left_out: how many events had unusable times.
    """

    def __init__(self, trace: Trace, window: Span | None) -> None:
        self.trace, self.recording, self.window = trace, trace.recording, window
        self.base_ns = _first_ns(trace)
        self.old = self.recording.fact("trace", "categories") == "old"
        pid = self.recording.number("program", "pid")
        self.pid = int(pid) if pid is not None and 0 < pid < NO_PROCESS else NO_PROCESS
        numbers = self.recording[Threads].os_thread.tolist()
        self.tids = [tid if 0 <= tid < SAMPLES_OF else row + 1 for row, tid in enumerate(numbers)] + [0]
        self.strings = self.recording[Strings]
        self.name: Callable[[int], str] = lru_cache(_NAMES_KEPT)(lambda row: text(self.strings[row]))
        self.left_out = 0

    def shown(self, start_ns: Int64, end_ns: Int64 | None = None, moment_ns: Int64 | None = None) -> Mask:
        """Returns which events are written, a mask. Those with missing or damaged times are counted in
        `left_out`.

        Args:
            moment_ns: the time that must be in the window, if that is not start_ns.
        """
        usable = (start_ns >= self.base_ns) & (start_ns - self.base_ns < LONGEST_NS)
        if end_ns is not None:
            usable &= (end_ns >= start_ns) & (end_ns - start_ns < LONGEST_NS)
        inside = np.ones(len(start_ns), np.bool_)
        if self.window is not None:
            at_ns = start_ns if moment_ns is None else moment_ns
            inside = (at_ns >= self.window.start_ns) & (at_ns < self.window.end_ns)
        self.left_out += int(np.count_nonzero(inside & ~usable))
        return np.asarray(inside & usable)

    def rows_of(self, table: Table, rows: Mask) -> Iterator[str]:
        """For each event the values that perfprobe needs to read the file again: `"perfprobe":[1,...]`."""
        kind = type(table)
        values = table.columns()
        chosen = [self._relative(values[name][rows], name) for name in columns(kind)]
        form = f'"{ENTRY}":[{EVENTS.index(kind)}{",%d" * len(chosen)}]'
        return map(form.__mod__, zip(*(column.tolist() for column in chosen), strict=True))

    def _relative(self, column: Int64 | Int32, name: str) -> Int64 | Int32:
        return np.where(column < 0, -1, column - self.base_ns) if name == "end_ns" else column

    def time(self, at_ns: int) -> str:
        """A time as written to the file: microseconds since base_ns."""
        return micros(at_ns - self.base_ns)


def _first_ns(trace: Trace) -> int:
    """Returns when the program began, or the first sample, range or call of CUDA if that is earlier."""
    start_ns = max(trace.start_ns or 0, 0)
    found = [start_ns]
    for kind in (Samples, Ranges, ApiCalls):
        began_ns = trace.recording[kind].columns()["start_ns"]
        usable_ns = began_ns[(began_ns >= 0) & (began_ns > start_ns - _EARLIEST_NS)]
        found += [int(usable_ns.min())] if len(usable_ns) else []
    return min(found)


def micros(time_ns: int) -> str:
    """Nanoseconds (not negative) as the exact number of microseconds: "1234.567"."""
    whole, rest = divmod(time_ns, 1000)
    return f"{whole}.{rest:03d}"


def text(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def complete(category: str, name: str, where: tuple[Any, Any], times: tuple[str, str], args: str = "") -> str:
    """An event with a duration, as JSON.

    Args:
        name: as JSON.
        where: process and thread, as JSON.
        times: start and duration in microseconds, as text.
        args: members of a JSON object.
    """
    fields = f',"args":{{{args}}}' if args else ""
    pid, tid = where
    start, length = times
    placed = f'"name":{name},"pid":{pid},"tid":{tid},"ts":{start},"dur":{length}'
    return f'{{"ph":"X","cat":"{category}",{placed}{fields}}}'


def fact(name: str, pid: Any, tid: Any, value: Any, key: str = "name") -> str:
    """An event that names a process or a thread."""
    return text({"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": {key: value}})


def arrow(category: str, number: int, begin: tuple[int, int, str], end: tuple[Any, Any, str]) -> str:
    """An arrow between two events, each by process, thread and start."""
    shared = f'"id":{number},"cat":"{category}","name":"{category}"'
    from_, to = (f'"pid":{pid},"tid":{tid},"ts":{start}' for pid, tid, start in (begin, end))
    return f'{{"ph":"s",{shared},{from_}}},\n{{"ph":"f","bp":"e",{shared},{to}}}'
