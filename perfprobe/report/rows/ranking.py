"""Which rows of a table come first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfprobe.support.errors import UsageError
from perfprobe.support.text import printable
from perfprobe.support.view import PEER_ONLY_SORTS
from perfprobe.tables.columns import Int64
from perfprobe.tables.findings import Findings, HotspotRows, Hotspots


def _typical_total(rows: HotspotRows) -> Int64:
    """Total time without the outliers in self time."""
    return np.where(
        rows.self_ns > 0, rows.total_ns * (rows.typical_ns / np.maximum(rows.self_ns, 1)), rows.total_ns
    )


SORTS: dict[str, Callable[[HotspotRows], Int64]] = {
    "self": lambda rows: rows.typical_ns,
    "total": _typical_total,
    "calls": lambda rows: rows.calls,
    "mean": lambda rows: rows.mean_ns,
    "median": lambda rows: rows.median_ns,
    "p95": lambda rows: rows.p95_ns,
    "gpu": lambda rows: np.where(rows.is_range, rows.gpu_ns, rows.gpu_self_ns),
}


_SORT_NAMES = {"self": "self time", "total": "total time", "calls": "calls", "mean": "mean time"}
_SORT_NAMES |= {"median": "median time", "p95": "95th percentile", "gpu": "time on GPUs"}


def ranked(rows: HotspotRows, top: int, sort: str) -> HotspotRows:
    """The first `top` rows by `sort`, largest first; 0 for all of them.

    Raises:
        UsageError: a `sort` that does not exist, a negative `top`.
    """
    if sort not in SORTS:
        raise UsageError(f"there is no sort order {sort!r}", "", f"choose from {', '.join(SORTS)}")
    if top < 0:
        raise UsageError(f"a table cannot have {top} rows", "", "give a number from 0 (all rows) up")
    order = np.argsort(-SORTS[sort](rows), kind="stable")
    return rows.take(order[: top or len(order)])


def range_sort(sort: str) -> str:
    """The order of ranges. Total time replaces self time, which for a range is not operator time."""
    return "total" if sort == "self" else sort


def sort_of(findings: Findings, sort: str) -> str:
    """The order of our own tables; self time replaces time on GPUs if that was not recorded."""
    if sort in PEER_ONLY_SORTS:
        sort = "gpu" if sort == "gpu-total" else "self"
    hotspots = findings.get(Hotspots)
    recorded = hotspots is not None and hotspots.gpu_self_ns >= 0
    return "self" if sort == "gpu" and not recorded else sort


def rows_shown(rows: int, shown: int, sort: str) -> str:
    """Returns which rows a table shows: `20 of 799 rows by self time`."""
    number = "1 row" if rows == 1 else f"{rows:,} rows"
    if shown < rows:
        number = f"{shown:,} of {number}"
    elif rows > 1:
        number = f"all {number}"
    return f"{number} by {_SORT_NAMES[sort]}"


def focus_text(focus: str | None) -> str:
    """The regular expression in quotes, otherwise unchanged, so that it can be copied."""
    text = printable(focus or "")
    return f'"{text}"' if "'" in text else f"'{text}'"
