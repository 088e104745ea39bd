"""What events have in common: names, processes and threads, the clock, the part that is written."""

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
SAMPLES_OF, BESIDE, OVERHEAD = 1 << 24, 1 << 25, 1 << 26  # tracks of ours: numbers that no thread has
LONGEST_NS = 1 << 53
_EARLIEST_NS = 60_000_000_000  # before the program began; what is earlier is damage
_NAMES_KEPT = 1 << 14


class Span(NamedTuple):
    """From when to when."""

    start_ns: int
    end_ns: int


class Scene:
    """Of one recording.

    window: what is written of it, None for all. base_ns: the moment 0 of the file. old: whether it was read
    from a trace that has the categories of 2021, which are kept: the TensorBoard plugin knows no other name
    for calls of CUDA.
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
        """Which of these are written; those whose times are none, or damage, are counted in `left_out`.

        Args:
            moment_ns: what decides whether they are in the window, in the place of start_ns.
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
        """What the args of these events have of ours, a text for each: `"perfprobe":[1,...]`."""
        kind = type(table)
        values = table.columns()
        chosen = [self._told(values[name][rows], name) for name in columns(kind)]
        form = f'"{ENTRY}":[{EVENTS.index(kind)}{",%d" * len(chosen)}]'
        return map(form.__mod__, zip(*(column.tolist() for column in chosen), strict=True))

    def _told(self, column: Int64 | Int32, name: str) -> Int64 | Int32:
        return np.where(column < 0, -1, column - self.base_ns) if name == "end_ns" else column

    def time(self, at_ns: int) -> str:
        """A time as the file has it."""
        return micros(at_ns - self.base_ns)


def _first_ns(trace: Trace) -> int:
    """When the program began, or the first sample, range or call of CUDA: samples begin a little earlier."""
    start_ns = max(trace.start_ns or 0, 0)
    found = [start_ns]
    for kind in (Samples, Ranges, ApiCalls):
        began_ns = trace.recording[kind].columns()["start_ns"]
        usable_ns = began_ns[(began_ns >= 0) & (began_ns > start_ns - _EARLIEST_NS)]
        found += [int(usable_ns.min())] if len(usable_ns) else []
    return min(found)


def micros(time_ns: int) -> str:
    """Nanoseconds, at least 0, as microseconds, exactly."""
    whole, rest = divmod(time_ns, 1000)
    return f"{whole}.{rest:03d}"


def text(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def complete(category: str, name: str, where: tuple[Any, Any], times: tuple[str, str], args: str = "") -> str:
    """An event with a duration.

    Args:
        name: as JSON.
        where: process and thread, as JSON; times: start and duration; args: the inside of an object.
    """
    told = f',"args":{{{args}}}' if args else ""
    pid, tid = where
    start, length = times
    placed = f'"name":{name},"pid":{pid},"tid":{tid},"ts":{start},"dur":{length}'
    return f'{{"ph":"X","cat":"{category}",{placed}{told}}}'


def fact(name: str, pid: Any, tid: Any, value: Any, key: str = "name") -> str:
    """An event that names a process or a thread."""
    return text({"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": {key: value}})


def arrow(category: str, number: int, begin: tuple[int, int, str], end: tuple[Any, Any, str]) -> str:
    """An arrow between two events, each by process, thread and start."""
    shared = f'"id":{number},"cat":"{category}","name":"{category}"'
    from_, to = (f'"pid":{pid},"tid":{tid},"ts":{start}' for pid, tid, start in (begin, end))
    return f'{{"ph":"s",{shared},{from_}}},\n{{"ph":"f","bp":"e",{shared},{to}}}'
