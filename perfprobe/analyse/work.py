"""FLOPs of rows, by the work model of their operator and signature."""

from __future__ import annotations

import numpy as np

from perfprobe.models import work
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Sums
from perfprobe.tables.trace import Trace

_MOST = 2**63 - 1


def flops_of(trace: Trace, rows: Sums) -> Int64:
    """FLOPs of all calls of each row; -1 where there is no model."""
    strings = trace.recording.strings
    known: dict[tuple[int, int], int | None] = {}
    found = []
    columns = (rows.name, rows.signature, rows.calls)
    for name, signature, calls in zip(*(column.tolist() for column in columns), strict=True):
        if (name, signature) not in known:
            text = trace.signature(signature)
            unknown = name < 0 or text is None
            known[name, signature] = None if unknown else work.flops(strings[name], text or "")
        flops = known[name, signature]
        found.append(-1 if flops is None else min(flops * calls, _MOST))
    return np.array(found, np.int64)
