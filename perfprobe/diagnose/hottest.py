"""Rule: the operator of the whole run that is named first."""

from __future__ import annotations

import numpy as np

from perfprobe.models.waiting import HeldUp, held_up
from perfprobe.tables.columns import Rows
from perfprobe.tables.diagnoses import HottestOperator
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots
from perfprobe.tables.trace import Phase

_NEARLY_ALL = 0.9
_FAR_MORE = 1.5  # a row with more than this times the first row's sum is explained


def hottest_operator(findings: Findings) -> HottestOperator | None:
    """The row with most typical time; None if the table has a focus or another grouping."""
    hotspots = findings.get(Hotspots)
    if hotspots is None or hotspots.group != "row" or hotspots.focus is not None or len(hotspots.rows) == 0:
        return None
    rows = hotspots.rows
    computes = np.flatnonzero(rows.phase != Phase.COMPILE)  # operators that are traced compute nothing
    chosen = computes if len(computes) else np.arange(len(rows))
    first, largest = _first(rows, chosen), int(chosen[rows.self_ns[chosen].argmax()])
    first_ns, largest_ns, lead = int(rows.self_ns[first]), int(rows.self_ns[largest]), _long_lead(findings)
    if lead and rows.long_calls[largest] > 0 and largest_ns > first_ns:
        return HottestOperator(largest, first, True, lead)
    return HottestOperator(first, largest if largest_ns > _FAR_MORE * first_ns else -1, False, lead)


def _first(rows: HotspotRows, chosen: Rows) -> int:
    """The first row; where no line is known that of the operator with most typical time in all shapes."""
    if rows.has_lines():
        return int(chosen[0])
    key = rows.name[chosen].astype(np.int64) * len(Phase) + rows.phase[chosen]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    sums_ns = np.bincount(number.reshape(-1), rows.typical_ns[chosen])
    return int(chosen[first[int(sums_ns.argmax())]])


def _long_lead(findings: Findings) -> bool:
    """Not if threads are known to have waited for a processor, which alone makes calls long."""
    hotspots = findings[Hotspots]
    if held_up(findings.trace) is HeldUp.YES:
        return False
    rows = hotspots.rows
    excess_ns = int((rows.self_ns - rows.typical_ns)[rows.long_calls > 0].sum())
    return excess_ns > _NEARLY_ALL * max(hotspots.totals.self_ns, 1)
