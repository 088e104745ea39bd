"""Which rows of the hotspot table come first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfprobe.support.errors import UsageError
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import HotspotRows

SORTS: dict[str, Callable[[HotspotRows], Int64]] = {
    "self": lambda rows: rows.self_ns,
    "total": lambda rows: rows.total_ns,
    "calls": lambda rows: rows.calls,
    "mean": lambda rows: rows.mean_ns,
}


def ranked(rows: HotspotRows, top: int, sort: str) -> HotspotRows:
    """The `top` first rows by `sort`, largest first; 0 for all of them.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    if sort not in SORTS:
        raise UsageError(f"there is no sort order {sort!r}", "", f"choose from {', '.join(SORTS)}")
    if top < 0:
        raise UsageError(f"a table cannot have {top} rows", "", "give a number from 0 (all rows) up")
    order = np.argsort(-SORTS[sort](rows), kind="stable")
    return rows.take(order[: top or len(order)])
