"""Ranges set through NVTX, ITT or perfprobe, and Python's garbage collections, as events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfprobe.report.export.chrome.scene import Scene, complete, micros
from perfprobe.tables.ranges import RangeKind, Ranges

_OPEN = -1


def range_events(scene: Scene) -> Iterator[str]:
    """The ranges as events. Nested ones are on their thread, free and unfinished ones on their own tracks."""
    ranges = scene.recording[Ranges]
    stop_ns = scene.trace.end_ns or 0
    end_ns = np.where(ranges.end_ns == _OPEN, np.maximum(stop_ns, ranges.start_ns), ranges.end_ns)
    shown = scene.shown(ranges.start_ns, end_ns)
    is_open = (ranges.end_ns == _OPEN) & (ranges.kind == RangeKind.NESTED)
    kind = np.where(is_open, RangeKind.FREE, ranges.kind)
    columns = (ranges.start_ns, end_ns, ranges.thread, ranges.name, kind)
    rows = zip(*(column[shown].tolist() for column in columns), strict=True)
    own_of = scene.rows_of(ranges, shown)
    for number, (row, own) in enumerate(zip(rows, own_of, strict=True), 1):
        yield from _events(scene, number, row, own)


def _events(scene: Scene, number: int, row: tuple[int, ...], own: str) -> Iterator[str]:
    start_ns, end_ns, thread, name, kind = row
    where, start = (scene.pid, scene.tids[thread]), scene.time(start_ns)
    shared = f'"cat":"range","name":{scene.name(name)},"pid":{where[0]},"tid":{where[1]}'
    if kind == RangeKind.MARK:
        yield f'{{"ph":"i","s":"t",{shared},"ts":{start},"args":{{{own}}}}}'
    elif kind == RangeKind.FREE:
        yield f'{{"ph":"b","id":{number},{shared},"ts":{start},"args":{{{own}}}}}'
        yield f'{{"ph":"e","id":{number},{shared},"ts":{scene.time(end_ns)}}}'
    else:
        times = start, micros(end_ns - start_ns)
        yield complete("user_annotation", scene.name(name), where, times, own)
