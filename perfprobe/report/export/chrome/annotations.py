"""Ranges of `record_function` on the tracks of streams, as Kineto draws them there.

On each stream a range lasts from the first to the last kernel or copy that was launched in it, unless an
inner range launched it. Kineto of 2024 began it 1 us earlier and ended it 0.5 us later. If the recording was
read from such a trace, so do we.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfprobe.report.export.chrome.scene import Scene, complete, micros
from perfprobe.tables.columns import Int32, Int64, Table
from perfprobe.tables.gpu import ApiCalls, Copies, Kernels
from perfprobe.tables.scopes import USER_SCOPE

COLUMNS = ("start_ns", "end_ns", "thread", "name", "scope")
MOST = 1 << 20
_PADDED_NS = 1000, 500


class Annotations(NamedTuple):
    """Ranges: thread, start and name of each. of_calls: the range around each call of CUDA, -1 none."""

    thread: Int32
    start_ns: Int64
    name: Int32
    of_calls: Int64


def annotated(scene: Scene) -> Annotations:
    """The ranges of a recording, at most MOST.

    Raises:
        InputError: the recording cannot be read.
    """
    calls, os_thread = scene.recording[ApiCalls], scene.recording.os_threads()
    found: list[tuple[Int64, Int64, Int32, Int32]] = []
    for rows in scene.recording.operators(COLUMNS) if len(calls) else ():
        own = np.flatnonzero(rows.scope == USER_SCOPE)
        if sum(len(part[0]) for part in found) + len(own) > MOST:
            break
        found.append((rows.start_ns[own], rows.end_ns[own], rows.thread[own], rows.name[own]))
    if not found:
        none = np.empty(0, np.int32)
        return Annotations(none, none.astype(np.int64), none, np.full(len(calls), -1, np.int64))
    start_ns, end_ns, thread, name = (np.concatenate(column) for column in zip(*found, strict=True))
    of_calls = np.full(len(calls), -1, np.int64)
    for number in set(os_thread[thread].tolist()):
        ranges, own = (
            np.flatnonzero(os_thread[thread] == number),
            np.flatnonzero(os_thread[calls.thread] == number),
        )
        of_calls[own] = _innermost(ranges, start_ns, end_ns, calls.start_ns[own])
    return Annotations(thread, start_ns, name, of_calls)


def _innermost(ranges: Int64, start_ns: Int64, end_ns: Int64, at_ns: Int64) -> Int64:
    """The innermost range that is open at each time, -1 none. ranges: rows of one thread."""
    ranges = ranges[np.lexsort((-end_ns[ranges], start_ns[ranges]))]
    found = np.full(len(at_ns), -1, np.int64)
    order, opened, following = np.argsort(at_ns, kind="stable"), [], 0
    starts, ends = start_ns[ranges].tolist(), end_ns[ranges].tolist()
    for at in order.tolist():
        now_ns = int(at_ns[at])
        while following < len(ranges) and starts[following] <= now_ns:
            opened.append(following)
            following += 1
        while opened and ends[opened[-1]] < now_ns:
            opened.pop()
        found[at] = ranges[opened[-1]] if opened else -1
    return found


def annotation_events(scene: Scene, found: Annotations, numbers: Int64) -> Iterator[str]:
    """The ranges as events on streams. numbers: the External id of each range."""
    links = scene.trace.gpu
    drawn = scene.recording.fact("trace", "stream_ranges")
    if links is None or len(found.start_ns) == 0 or drawn == "none":
        return
    earlier_ns, later_ns = _PADDED_NS if drawn == "padded" else (0, 0)
    parts = [
        _launched(scene.recording[Kernels], links.kernel_call, found),
        _launched(scene.recording[Copies], links.copy_call, found),
    ]
    rows, device, stream, start_ns, end_ns = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((start_ns, stream, device, rows))
    keys = np.stack([rows, device, stream])[:, order]
    first = np.flatnonzero(np.append(True, (np.diff(keys) != 0).any(axis=0))) if len(order) else order
    begins = np.minimum.reduceat(start_ns[order], first) if len(first) else start_ns
    ends = np.maximum.reduceat(end_ns[order], first) if len(first) else end_ns
    shown = scene.shown(found.start_ns[keys[0, first]])
    columns = (*keys[:, first][:, shown], begins[shown], ends[shown])
    for row, on, track, begin_ns, stop_ns in zip(*(column.tolist() for column in columns), strict=True):
        since_ns = max(begin_ns - earlier_ns, scene.base_ns)
        times = scene.time(since_ns), micros(stop_ns + later_ns - since_ns)
        name, fields = scene.name(int(found.name[row])), f'"External id":{int(numbers[row])}'
        yield complete("gpu_user_annotation", name, (max(on, 0), max(track, 0)), times, fields)


def _launched(table: Table, call: Int32, found: Annotations) -> tuple[Int64, ...]:
    """For all GPU work launched in a range: the row of the range, device, stream, start and end."""
    columns = table.columns()
    row = np.append(found.of_calls, -1)[call]
    timed = (row >= 0) & (columns["start_ns"] >= 0) & (columns["end_ns"] >= columns["start_ns"])
    names = ("device", "stream", "start_ns", "end_ns")
    return row[timed], *(columns[name][timed].astype(np.int64) for name in names)
