"""Rule: much of the steps computes in float64, or in float16 on a CPU."""

from __future__ import annotations

from collections import Counter

import numpy as np

from perfprobe.diagnose.limits import STANDS_OUT
from perfprobe.models.dtypes import short_name
from perfprobe.models.signature import parse, tensors
from perfprobe.tables.columns import distinct
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.judgements import SlowDtype
from perfprobe.tables.step_rows import StepHotspots
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Trace

DTYPES = ("float64", "float16")
_CONVERSION = "aten::copy_"  # what `to`, `double` and `half` call


def slow_dtype(findings: Findings) -> SlowDtype | None:
    """The dtype with most time on a CPU, if that stands out, and the line that converts most to it."""
    found = findings.get(StepHotspots)
    if found is None or findings.trace.gpu is not None:
        return None
    times_ns = _times(findings.trace, found.hotspots.rows)
    dtype = max(DTYPES, key=times_ns.__getitem__)
    share = found.share(times_ns[dtype])
    return SlowDtype(dtype, share, _origin(findings, dtype)) if share >= STANDS_OUT else None


def _times(trace: Trace, rows: HotspotRows) -> dict[str, int]:
    """The time of operators that have arrays of one such dtype, and no other floating one, on the CPU."""
    known = distinct(rows.signature)
    sums_ns = np.bincount(np.searchsorted(known, rows.signature), rows.typical_ns, len(known))
    times_ns = dict.fromkeys(DTYPES, 0)
    short = [short_name(dtype) for dtype in DTYPES]
    for signature, time_ns in zip(known.tolist(), sums_ns.tolist(), strict=True):
        text = trace.signature(signature) or ""
        own = set(_arrays(text)) if any(name in text for name in short) else set()
        for dtype in DTYPES:
            times_ns[dtype] += round(time_ns) if own == {short_name(dtype)} else 0
    return times_ns


def _origin(findings: Findings, dtype: str) -> int:
    """The line with most time in conversions to this dtype, -1 for none.

    Those before the steps, of a model, come first: inputs are then converted because the model was.
    """
    trace = findings.trace
    whole, of_steps = (
        _conversions(trace, each.rows, dtype)
        for each in (findings[Hotspots], findings[StepHotspots].hotspots)
    )
    before = {frame: time_ns for frame, time_ns in whole.items() if frame not in of_steps}
    found = before or whole
    return max(found, key=found.__getitem__, default=-1)


def _conversions(trace: Trace, rows: HotspotRows, dtype: str) -> Counter[int]:
    """The time of copies from another dtype, by line."""
    rows = rows.take(trace.recording[Strings].marks(lambda name: name == _CONVERSION)[rows.name])
    times_ns = Counter[int]()
    columns = (column.tolist() for column in (rows.frame, rows.signature, rows.self_ns))
    for frame, signature, self_ns in zip(*columns, strict=True):
        own = _arrays(trace.signature(signature))
        if len(own) == 2 and own[0] == short_name(dtype) != own[1]:
            times_ns[frame] += self_ns
    return times_ns


def _arrays(signature: str | None) -> list[str]:
    """The dtypes of all floating tensors on the CPU with at least one dimension."""
    items = parse(signature or "") or ()
    return [
        each.dtype
        for each in tensors(items)
        if each.device == "cpu" and each.sizes != () and "f" in each.dtype
    ]
