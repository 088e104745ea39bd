"""Sampled time for https://www.speedscope.app, whose site has the schema; a profile for each thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from perfprobe.report.export.exported import Exported
from perfprobe.report.export.flames import Flames, Frame
from perfprobe.tables.findings import Findings

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

MOST_IN_ORDER = 20_000_000  # frames of all samples together: speedscope opens no larger files


def exported(findings: Findings, times: str | None = None) -> Exported:
    """The file, and what to know of it; `times` is for other formats.

    Raises:
        InputError: there are no stacks with times.
    """
    flames = Flames(findings)
    paths = flames.paths()
    notes = flames.notes()
    steps = flames.in_order()
    if steps is None or sum(len(paths[row]) for row in steps.row) > MOST_IN_ORDER:
        steps = flames.summed()
        notes.append("equal stacks are put together: look at Left Heavy, there is no order of time")
    threads: dict[int, list[tuple[int, int]]] = {}
    for thread, row, time_ns in zip(*steps, strict=True):
        threads.setdefault(thread, []).append((row, time_ns))
    profiles = [_profile(_name(flames, thread), paths, steps) for thread, steps in threads.items()]
    document = {
        "$schema": SCHEMA,
        "exporter": "perfprobe",
        "name": " ".join(findings.trace.recording.texts("program", "argv")),
        "shared": {"frames": [_frame(frame) for frame in flames.frames]},
        "profiles": sorted(profiles, key=lambda profile: -profile["endValue"]),
    }
    return Exported(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), notes)


def _profile(name: str, paths: Sequence[Sequence[int]], steps: Sequence[tuple[int, int]]) -> dict[str, Any]:
    weights = [time_ns for _, time_ns in steps]
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [paths[row] for row, _ in steps],
        "weights": weights,
    }


def _name(flames: Flames, thread: int) -> str:
    return "operators' own time (no samples)" if flames.by_operators else flames.thread(thread)


def _frame(frame: Frame) -> dict[str, Any]:
    return {key: value for key, value in frame._asdict().items() if value is not None}
