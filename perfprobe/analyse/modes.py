"""How long modes of torch were on, and how much longer steps took with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfprobe.analyse.loop.own_times import Floats, leading, own_times_ns
from perfprobe.tables.columns import Int64, Mask
from perfprobe.tables.modes import Mode, Modes
from perfprobe.tables.steps import Steps, StepTimes
from perfprobe.tables.trace import Trace, line_of

_FEWEST = 6  # steps of which a median is taken
_LAST_NS = 1 << 62


def modes(trace: Trace, times: StepTimes) -> Modes | None:
    """All modes that were on, the longest first; None without any."""
    listed = trace.recording.fact("modes", "rows")
    rows = [row for row in (listed if isinstance(listed, list) else []) if isinstance(row, dict)]
    rows = [row for row in rows if isinstance(row.get("mode"), str) and _time_ns(row.get("from_ns"))]
    steps, own_ns = times.steps.take(leading(times)), own_times_ns(trace, times)
    names = dict.fromkeys(row["mode"] for row in rows)
    end_ns = trace.end_ns or _LAST_NS
    found = [_mode([row for row in rows if row["mode"] == name], steps, own_ns, end_ns) for name in names]
    return Modes(tuple(sorted(found, key=lambda each: -each.time_ns))) if found else None


def _mode(rows: list[dict[str, Any]], steps: Steps, own_ns: Floats | None, end_ns: int) -> Mode:
    begins = np.array([_time_ns(row["from_ns"]) for row in rows], np.int64)
    ends = np.array([_time_ns(row.get("until_ns")) or end_ns for row in rows], np.int64)
    is_on, is_off = _within(steps, begins, ends)
    slower = None
    if own_ns is not None and min(is_on.sum(), is_off.sum()) >= _FEWEST:
        slower = float(np.median(own_ns[is_on]) / max(float(np.median(own_ns[is_off])), 1.0))
    return Mode(
        name=rows[0]["mode"],
        line=line_of(rows[0]),
        time_ns=int(np.maximum(ends - begins, 0).sum()),
        steps=int(is_on.sum()),
        whole=len(steps),
        slower=slower,
    )


def _within(steps: Steps, begins: Int64, ends: Int64) -> tuple[Mask, Mask]:
    """Which steps lie in one of these times, and which in none."""
    last = np.searchsorted(begins, steps.end_ns, "right") - 1  # the last time that begins before their end
    end_ns = np.append(ends, -1)[last]
    begin_ns = np.append(begins, -1)[last]
    is_on = (last >= 0) & (begin_ns <= steps.start_ns) & (steps.end_ns <= end_ns)
    return is_on, (last < 0) | (end_ns <= steps.start_ns)


def _time_ns(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < _LAST_NS else None
