"""The changes that were put on the program."""

from __future__ import annotations

import os

import numpy as np

from perfprobe.tables.trace import Trace, line_of
from perfprobe.tables.tries import Tries


def tries(trace: Trace) -> Tries | None:
    """A row for each change, in the order in which they were put on; None without any."""
    listed = trace.recording.fact("tries", "rows")
    rows = [row for row in (listed if isinstance(listed, list) else []) if isinstance(row, dict)]
    rows = [row for row in rows if isinstance(row.get("word"), str) and type(row.get("times")) is int]
    if not rows:
        return None
    lines = [line_of(row) for row in rows]
    places = ["" if line is None else f"{os.path.basename(line.file)}:{line.line}" for line in lines]
    return Tries(
        word=np.array([row["word"] for row in rows], object),
        times=np.array([row["times"] for row in rows], np.int64),
        place=np.array(places, object),
    )
