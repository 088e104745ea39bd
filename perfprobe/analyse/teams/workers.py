"""The teams of DataLoader's workers, from their own recordings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from perfprobe.analyse.processors import processors
from perfprobe.analyse.teams.inventory import inventory
from perfprobe.tables.columns import TEXT
from perfprobe.tables.teams import ThreadKind, WorkerTeams
from perfprobe.tables.trace import Line, Trace

_RAN_NS = 1_000_000


def worker_teams(workers: Iterable[tuple[int, Trace, Mapping[Line, int]]]) -> WorkerTeams:
    """A row for each worker whose threads were read.

    Args:
        workers: for each its process number, the trace of its own recording, and time in ns by user line.
    """
    rows = [row for process, trace, lines in workers if (row := _row(process, trace, lines)) is not None]
    columns: dict[str, Any] = {}
    for name, dtype in WorkerTeams.dtypes.items():
        columns[name] = np.array([*(row[name] for row in rows), None], TEXT)[:-1].astype(dtype)
    return WorkerTeams(**columns)


def _row(process: int, trace: Trace, lines_ns: Mapping[Line, int]) -> dict[str, Any] | None:
    found, threads = processors(trace), trace.recording.number("torch", "threads")
    if found is None or threads is None:
        return None
    is_team = inventory(trace.recording, found.threads).kind == ThreadKind.OPENMP
    line = max(lines_ns, key=lambda each: lines_ns[each], default=Line("", -1, ""))
    return {
        "process": process,
        "threads": int(threads),
        "ran": int((found.threads.run_ns[is_team] >= _RAN_NS).sum()),
        "run_ns": int(found.windows.run_ns.sum()),
        "waited_ns": -1 if found.waited_ns is None else found.waited_ns,
        **line._asdict(),
    }
