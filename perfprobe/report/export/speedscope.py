"""Time for https://www.speedscope.app, a profile for each thread. Its site has the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from perfprobe.report.export.exported import Exported, pieces, separated
from perfprobe.report.export.flames import Flames, Frame, Paths, Steps
from perfprobe.tables.columns import Int32, Int64, Rows
from perfprobe.tables.findings import Findings
from perfprobe.tables.python import CallStructure

KINDS = (CallStructure,)

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

_AT_A_TIME = 4096  # samples that are written at a time
_TEXTS_KEPT = 100  # texts of stacks that are kept, because consecutive samples often have the same few


def exported(findings: Findings, chosen: str | None = None) -> Exported:
    """The file, and notes about it. `chosen` is ignored: the findings have the time that was asked for.

    Raises:
        InputError: there are no stacks with times.
    """
    flames = Flames(findings)
    paths = flames.paths()
    order = "equal stacks are merged, so there is no order of time: use the view Left Heavy"
    name = " ".join(findings.trace.recording.texts("program", "argv"))
    return Exported(pieces(_document(flames, paths, flames.sum_up(), name)), [*flames.notes(), order])


def _document(flames: Flames, paths: Paths, steps: Steps, name: str) -> Iterator[str]:
    """The JSON text in pieces, as json.dumps would write it; the whole is never in memory."""
    beginning = _json({"$schema": SCHEMA, "exporter": "perfprobe", "name": name})
    yield f'{beginning.removesuffix("}")},"shared":{{"frames":['
    yield from separated((_json(_frame(frame)) for frame in flames.frames), ",")
    yield ']},"profiles":['
    ends = {thread: _sum(steps.time_ns[steps.thread == thread]) for thread in _in_order_of_time(steps.thread)}
    before = ""
    for thread in sorted(ends, key=lambda thread: -ends[thread]):
        yield before
        yield from _profile(flames.thread(thread), paths, steps, thread, ends[thread])
        before = ","
    yield "]}"


def _profile(name: str, paths: Paths, steps: Steps, thread: int, end_ns: int) -> Iterator[str]:
    of_thread = np.flatnonzero(steps.thread == thread)
    text = lru_cache(_TEXTS_KEPT)(lambda row: _json(paths[row]))
    beginning = {"type": "sampled", "name": name, "unit": "nanoseconds", "startValue": 0, "endValue": end_ns}
    yield f'{_json(beginning).removesuffix("}")},"samples":['
    yield from separated((text(row) for some in _some(steps.row, of_thread) for row in some), ",")
    yield '],"weights":['
    yield from separated((_json(some)[1:-1] for some in _some(steps.time_ns, of_thread)), ",")
    yield "]}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _in_order_of_time(threads: Int32) -> list[int]:
    """The distinct threads, in the order in which they first occur."""
    found, first = np.unique(threads, return_index=True)
    return [int(thread) for thread in found[np.argsort(first)]]


def _sum(time_ns: Int64) -> int:
    """The sum as a Python int, which cannot overflow."""
    return sum(sum(time_ns[at : at + _AT_A_TIME].tolist()) for at in range(0, len(time_ns), _AT_A_TIME))


def _some(column: Int64 | Rows, rows: Rows) -> Iterator[list[int]]:
    """The values at these rows, in lists of at most _AT_A_TIME."""
    for start in range(0, len(rows), _AT_A_TIME):
        yield column[rows[start : start + _AT_A_TIME]].tolist()


def _frame(frame: Frame) -> dict[str, Any]:
    return {key: value for key, value in frame._asdict().items() if value is not None}
