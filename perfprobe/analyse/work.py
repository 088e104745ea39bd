"""FLOPs of rows, by the work model of their operator and signature."""

from __future__ import annotations

import numpy as np

from perfprobe.models import work
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Sums
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

_MOST = 2**63 - 1


def flops_of(trace: Trace, rows: Sums) -> Int64:
    """FLOPs of all calls of each row, -1 if there is no work model."""
    known: dict[tuple[int, int, int], int | None] = {}
    found = []
    columns = (rows.name, rows.overload, rows.signature, rows.calls)
    for *key, calls in zip(*(column.tolist() for column in columns), strict=True):
        name, overload, signature = key
        if (name, overload, signature) not in known:
            known[name, overload, signature] = _flops(trace, name, overload, signature)
        flops = known[name, overload, signature]
        found.append(-1 if flops is None else min(flops * calls, _MOST))
    return np.array(found, np.int64)


def _flops(trace: Trace, name: int, overload: int, signature: int) -> int | None:
    strings, text = trace.recording[Strings], trace.signature(signature)
    operator = ".".join(part for part in (strings[name], strings[overload]) if part)
    return None if text is None else work.flops(operator, text)
