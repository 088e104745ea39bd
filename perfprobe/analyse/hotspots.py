"""Where operator time is spent: rows with all keys, merged to those of a report, which has fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfprobe.analyse import durations
from perfprobe.analyse.grouping import KEYS, group_of, keep_keys, measured_sums, reordered, sort_by_keys, sums
from perfprobe.analyse.modules import common_texts, module_parts
from perfprobe.analyse.operator_rows import OperatorRows
from perfprobe.models import work
from perfprobe.tables.columns import Int64, Rows, compact
from perfprobe.tables.findings import DurationBins, HotspotRows, Hotspots, ModuleParts, Sums, Totals
from perfprobe.tables.strings import Strings
from perfprobe.tables.trace import Phase, Trace

_MOST_FLOPS = 2**63 - 1
_PHASES = {"forward_ns": Phase.FORWARD, "backward_ns": Phase.BACKWARD, "recompute_ns": Phase.RECOMPUTE}
_COUNTED = {"operators": ("name", "overload"), "signatures": ("signature",), "lines": ("frame",)}


def hotspots(trace: Trace, found: OperatorRows, totals: Totals, *, work: bool) -> Hotspots:
    """The hotspot tables, most typical self time first. work: whether to compute the FLOPs of each row."""
    rows = found.rows
    flops = flops_of(trace, rows) if work else np.broadcast_to(np.int64(-1), len(rows))
    shown, parts, modules = _merge_rows(trace, found, flops)
    return Hotspots(
        rows=shown.take(~shown.is_range),
        ranges=shown.take(shown.is_range),
        parts=parts,
        totals=totals,
        modules=modules,
        ungrouped=found.operators,
        group=found.group,
        focus=found.focus,
        whole_rows=found.whole_rows,
        whole_ranges=found.whole_ranges,
        autograd_self_ns=found.autograd_self_ns,
        gpu_self_ns=found.gpu_self_ns,
        cpu_self_ns=found.cpu_self_ns,
    )


def _merge_rows(
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
        found.append(-1 if flops is None else min(flops * calls, _MOST_FLOPS))
    return np.array(found, np.int64)


def _flops(trace: Trace, name: int, overload: int, signature: int) -> int | None:
    strings, text = trace.recording[Strings], trace.signature(signature)
    operator = ".".join(part for part in (strings[name], strings[overload]) if part)
    return None if text is None else work.flops(operator, text)
