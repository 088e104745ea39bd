"""Merges rows with all keys to the rows of a report, which have fewer keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse import durations
from perfprobe.analyse.grouping import KEYS, group_of, keep_keys, measured_sums, reordered, sort_by_keys, sums
from perfprobe.analyse.modules import common_texts, module_parts
from perfprobe.tables.columns import Int64, Rows, compact
from perfprobe.tables.findings import DurationBins, HotspotRows, ModuleParts, Sums
from perfprobe.tables.trace import Phase, Trace

if TYPE_CHECKING:
    from perfprobe.analyse.hotspots import OperatorRows

_PHASES = {"forward_ns": Phase.FORWARD, "backward_ns": Phase.BACKWARD, "recompute_ns": Phase.RECOMPUTE}
_COUNTED = {"operators": ("name", "overload"), "signatures": ("signature",), "lines": ("frame",)}


def merge_rows(
    trace: Trace, operators: OperatorRows, flops: Int64
) -> tuple[HotspotRows, ModuleParts, list[str]]:
    """The rows of a report, most typical self time first, what each module adds, and the texts of modules.

    The texts are those of the trace, followed by patterns for rows with several modules.

    Args:
        flops: of all calls of each row, -1 if not known.
    """
    rows, group = operators.rows, operators.group
    if len(rows) == 0:
        return HotspotRows.empty(), ModuleParts.empty(), list(trace.module_texts)
    keys = {name: compact(key) for name, key in (keep_keys(rows, group) | {"module": rows.module}).items()}
    order, first = sort_by_keys([keys[name] for name in KEYS if name != "module" or group == "module"])
    # The groups are put into order, not the rows made of them: those would exist twice for a moment.
    time_ns = np.add.reduceat(operators.typical_ns[order], first)
    order, first = reordered(order, first, np.argsort(-time_ns, kind="stable"))
    row_of = group_of(order, first)
    parts, first_part = module_parts(rows, row_of)
    chosen = {name: compact(column[order[first]]) for name, column in keys.items()}
    chosen["module"], texts = common_texts(parts, first_part, trace.module_texts)
    found = HotspotRows(
        **chosen,
        **sums(rows, order, first),
        **_calls(durations.merge_bins(operators.bins, row_of), disturbed=operators.disturbed),
        typical_ns=np.add.reduceat(operators.typical_ns[order], first),
        **_contents(rows, order, first),
        first_part=first_part.astype(np.int64),
        parts=np.diff(np.append(first_part, len(parts))).astype(np.int32),
        flops=measured_sums(flops, order, first),
    )
    return found.compact(), parts, texts


def row_count(rows: Sums, group: str) -> tuple[int, int]:
    """Returns how many rows of operators and how many of ranges a report has."""
    if len(rows) == 0:
        return 0, 0
    keys = keep_keys(rows, group)
    order, first = sort_by_keys([keys[name] for name in KEYS if name != "module" or group == "module"])
    ranges = int(np.count_nonzero(rows.is_range[order[first]]))
    return len(first) - ranges, ranges


def _calls(bins: DurationBins, *, disturbed: bool) -> dict[str, npt.NDArray[Any]]:
    found = durations.long_calls(bins, disturbed=disturbed)
    return {
        "median_ns": durations.quantile(bins, 50),
        "p95_ns": durations.quantile(bins, 95),
        "quantile_error_ppm": durations.error(bins),
        "usual_ns": found.usual_ns,
        "long_calls": found.calls,
    }


def _contents(rows: Sums, order: Rows, first: Rows) -> dict[str, npt.NDArray[Any]]:
    """Returns the numbers of operators, signatures and lines of each group, and its self time by phase."""
    row_of = group_of(order, first)
    counted = {
        name: compact(_distinct(row_of, [getattr(rows, key) for key in keys]))
        for name, keys in _COUNTED.items()
    }
    by_phase = {
        name: compact(np.add.reduceat(np.where(rows.phase == phase, rows.self_ns, 0)[order], first))
        for name, phase in _PHASES.items()
    }
    return {**counted, **by_phase}


def _distinct(row_of: Rows, keys: list[npt.NDArray[Any]]) -> Int64:
    order, first = sort_by_keys([row_of, *keys])
    return np.bincount(row_of[order[first]])
