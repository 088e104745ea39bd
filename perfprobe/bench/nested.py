"""Finds the operators inside a call, however deep, and the part of its time that each takes itself."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from perfprobe import native
from perfprobe.bench.subjects import Subject
from perfprobe.support.errors import EnvironmentLack
from perfprobe.tables import storage
from perfprobe.tables.recording import Recording
from perfprobe.tables.strings import Strings

_ENOUGH_NS, _ENOUGH_CALLS = 30_000_000, 9  # CPU time and calls; both must be reached
_MOST_NS, _MOST_CALLS = 1_000_000_000, 50  # reaching one of them is enough
_LEAST_PART = 0.02

# Its time, and by name that of the operators inside, each without those inside of it.
_Call = tuple[float, Counter[str]]


def nested(torch: Any, operator: str, subject: Subject) -> tuple[tuple[str, float], ...]:
    """Returns the operators inside the call, the longest first, with their own part of its CPU time.

    This is the median of many calls on the calling thread. They are not recorded in the timed blocks, because
    recording makes short calls longer. Without the observer the times are wall time; the median then leaves
    out calls that waited.
    """
    name = operator.partition(".")[0]
    try:
        calls = _observed(native.observer(torch), torch, name, subject)
    except EnvironmentLack:
        calls = _profiled(torch, name, subject)
    return _parts(calls)


def _parts(calls: Sequence[_Call]) -> tuple[tuple[str, float], ...]:
    names = {name for _, parts in calls for name in parts}
    found = {name: median(parts[name] / time_ns for time_ns, parts in calls) for name in names}
    return tuple((name, part) for name, part in sorted(found.items(), key=_longest) if part >= _LEAST_PART)


def _longest(found: tuple[str, float]) -> tuple[float, str]:
    return -found[1], found[0]


def _run(subject: Subject) -> None:
    """Calls it often enough."""
    began_ns = time.thread_time_ns()
    for made in range(_MOST_CALLS):
        spent_ns = time.thread_time_ns() - began_ns
        if spent_ns >= (_ENOUGH_NS if made >= _ENOUGH_CALLS else _MOST_NS):
            return
        subject.run(1)


def _observed(observer: Any, torch: Any, name: str, subject: Subject) -> list[_Call]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "nested.perfprobe")
        recorder = native.core().Recorder(path)
        observer.start(recorder.capsule(), torch.nn.Module._wrapped_call_impl.__code__, "all")
        try:
            _run(subject)
        finally:
            observer.stop()
            recorder.close()
        return list(_calls(name, _ended(storage.read(path))))


def _ended(recording: Recording) -> Iterator[tuple[str, int, int]]:
    strings = recording[Strings]
    for rows in recording.operators(("name", "depth", "cpu_ns")):
        columns = (rows.name.tolist(), rows.depth.tolist(), rows.cpu_ns.tolist())
        for name, depth, cpu_ns in zip(*columns, strict=True):
            yield strings[name], depth, cpu_ns


def _calls(name: str, ended: Iterator[tuple[str, int, int]]) -> Iterator[_Call]:
    """Yields calls from operators in the order of their ends: an operator follows those that it called."""
    parts, inside_ns = Counter[str](), Counter[int]()  # time of operators that ended, by depth
    for of, depth, cpu_ns in ended:
        own_ns = cpu_ns - inside_ns.pop(depth + 1, 0)
        inside_ns[depth] += cpu_ns
        if depth > 0:
            parts[of] += max(own_ns, 0)
            continue
        if of == name and cpu_ns > 0:
            yield cpu_ns, parts
        parts, inside_ns = Counter(), Counter()


def _profiled(torch: Any, name: str, subject: Subject) -> list[_Call]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
        _run(subject)
    found = []
    for event in profile.events():
        if event.name == name and event.cpu_parent is None and event.cpu_time_total > 0:
            parts = Counter[str]()
            _add_parts(event, parts)
            found.append((event.cpu_time_total, parts))
    return found


def _add_parts(event: Any, parts: Counter[str]) -> None:
    for child in event.cpu_children:
        parts[child.name] += child.self_cpu_time_total
        _add_parts(child, parts)
