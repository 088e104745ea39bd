"""Steps and memory over time: the figures that the sections *steps* and *memory*, and JSON, have."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.report.page.packed import Packed
from perfprobe.report.rows.memory import timeline_rows
from perfprobe.report.rows.steps import phase_text
from perfprobe.support import units
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import Findings
from perfprobe.tables.memory import MemoryUse
from perfprobe.tables.steps import LEFT_OUT_TEXTS, StepMark, StepTimes

MOST = 20_000  # steps
STEADY = ""


def steps(findings: Findings, packed: Packed) -> dict[str, Any] | None:
    """The leading loop's steps in the order of time: duration, mark and parts of each. None without steps."""
    times = findings.get(StepTimes)
    if times is None or len(times.loops) == 0:
        return None
    rows = np.flatnonzero(times.steps.loop == 0)
    rows = rows[np.argsort(times.steps.start_ns[rows], kind="stable")]
    left_out, rows = max(len(rows) - MOST, 0), rows[:MOST]
    chosen = times.steps.take(rows)
    place = np.full(len(times.steps), -1, np.int64)
    place[rows] = np.arange(len(rows))
    parts = times.step_phases.take(place[times.step_phases.step] >= 0)
    known = distinct(parts.phase).tolist()
    phases = []
    for phase in known:
        own = parts.take(parts.phase == phase)
        time_ns = np.zeros(len(rows), np.int64)
        np.add.at(time_ns, place[own.step], np.maximum(own.time_ns, 0))
        name = phase_text(int(times.loops.kind[0]), phase)
        phases.append({"name": name, "time": packed.column(time_ns), "whole": int(time_ns.sum())})
    median_ns = int(times.loops.median_ns[0])
    return {
        "row": packed.column(rows),
        "length": packed.column(chosen.end_ns - chosen.start_ns),
        "mark": packed.column(chosen.mark),
        "marks": [LEFT_OUT_TEXTS.get(mark, STEADY) for mark in StepMark],
        "phases": sorted(phases, key=lambda each: -each["whole"]),
        "median": max(median_ns, 0),
        "took": units.duration(median_ns if median_ns >= 0 else None),
        "left_out": left_out,
    }


def memory(findings: Findings, packed: Packed) -> dict[str, Any] | None:
    """Memory of tensors on the CPU that is held over time, by category. None if it was not recorded."""
    use = findings.get(MemoryUse)
    if use is None or len(use.timeline) == 0:
        return None
    rows = timeline_rows(findings)
    moments = list(dict.fromkeys(row.time_ns for row in rows))
    at = {time_ns: number for number, time_ns in enumerate(moments)}
    held: dict[str, Any] = {}
    for row in rows:
        held.setdefault(row.category, np.zeros(len(moments), np.int64))[at[row.time_ns]] = row.held_bytes
    return {
        "time": packed.column(np.array(moments, np.int64)),
        "held": [{"name": name, "bytes": packed.column(column)} for name, column in held.items()],
        "peak": use.peak_bytes,
        "took": units.size(use.peak_bytes),
    }
