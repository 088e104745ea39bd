"""The changes that were put on the program."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from perfprobe.tables.recording import Recording
from perfprobe.tables.trace import Line, Trace, line_of
from perfprobe.tables.tries import Tries


def tries(trace: Trace) -> Tries | None:
    """A row for each change, in the order in which they were put on; None without any."""
    rows = _rows(trace.recording)
    if not rows:
        return None
    lines = tried_at(trace.recording)
    places = ["" if line is None else f"{os.path.basename(line.file)}:{line.line}" for line in lines]
    return Tries(
        word=np.array([row["word"] for row in rows], object),
        times=np.array([row["times"] for row in rows], np.int64),
        place=np.array(places, object),
    )


def tried_at(recording: Recording) -> list[Line | None]:
    """The line where each change was applied first; None if it is not known."""
    return [line_of(row) for row in _rows(recording)]


def _rows(recording: Recording) -> list[dict[str, Any]]:
    listed = recording.fact("tries", "rows")
    rows = [row for row in (listed if isinstance(listed, list) else []) if isinstance(row, dict)]
    return [row for row in rows if isinstance(row.get("word"), str) and type(row.get("times")) is int]
