"""Saves what HolisticTraceAnalysis (HTA) computes from real traces in `hta_figures.json` beside this file.

Run it with an interpreter that has HolisticTraceAnalysis 0.5.0 and pandas 2.2. With pandas 3 its critical
path fails (`drop(axis=1, columns=...)`), and it cannot read some traces.

    python benchmarks/truth/hta_figures.py FOLDER_OF_TRACES > benchmarks/truth/hta_figures.json

Times are microseconds, the unit of Kineto's traces. This is also the unit of `consecutive_kernel_delay`
(30), whose documentation says nanoseconds. HTA's rounding to whole microseconds (`round_down_time_stamps`)
is switched off, because it subtracts up to 2 us from every kernel, which is most of a short one.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"

_SHORT_US, _DELAY_US = 50, 100  # HTA's `runtime_cutoff` and `launch_delay_cutoff`


def analysis(path: Path) -> Any:
    """The trace as read by HTA, with its last step."""
    hta = importlib.import_module("hta.trace_analysis")

    return hta.TraceAnalysis(trace_files={0: str(path)}, include_last_profiler_step=True)


def idle(trace: Any) -> dict[str, dict[str, float]]:
    """Idle time of each stream by category."""
    rows, _ = trace.get_idle_time_breakdown(ranks=[0], visualize=False)
    found: dict[str, dict[str, float]] = {}
    for row in rows.to_dict("records"):
        found.setdefault(str(int(row["stream"])), {})[row["idle_category"]] = float(row["idle_time"])
    return found


def temporal(trace: Any) -> dict[str, float]:
    """Idle, computing and other time."""
    row = trace.get_temporal_breakdown(visualize=False).to_dict("records")[0]
    return {name: float(value) for name, value in row.items() if name.endswith("(us)")}


def overlap(trace: Any) -> float | None:
    """Communication while computing, percent; None without communication."""
    percent = float(trace.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"][0])
    return None if math.isnan(percent) else percent


def launches(trace: Any) -> dict[str, float]:
    """Launches, by HTA's limits."""
    rows = trace.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    short = (rows.cpu_duration <= _SHORT_US) & (rows.gpu_duration < rows.cpu_duration)
    return {
        "launches": len(rows),
        "short": int(short.sum()),
        "long_calls": int((rows.cpu_duration > _SHORT_US).sum()),
        "delayed": int((rows.launch_delay > _DELAY_US).sum()),
        "delay": float(rows.launch_delay.sum()),
    }


def queues(trace: Any) -> dict[str, dict[str, float]]:
    """Number of events and longest queue of each stream."""
    rows = trace.get_queue_length_summary()["queue_length"]
    return {
        str(int(stream)): {name: float(row[name]) for name in ("count", "mean", "max")}
        for (_, stream), row in rows.iterrows()
    }


def critical_path(trace: Any) -> dict[str, Any]:
    """The critical path of the whole trace: its length, and the time bound by each resource."""
    graph, is_valid = trace.critical_path_analysis(rank=0, annotation="", instance_id=None)
    edges = graph.get_critical_path_breakdown()
    by_bound = edges.groupby("bound_by").duration.sum().to_dict()
    by_type = edges.groupby("type").duration.sum().to_dict()
    return {
        "valid": bool(is_valid),
        "length": float(edges.duration.sum()),
        "nodes": len(graph.critical_path_nodes),
        "bound_by": {str(name): float(value) for name, value in by_bound.items() if name},
        "types": {str(name): float(value) for name, value in by_type.items() if value},
    }


_FIGURES: tuple[Callable[[Any], Any], ...] = (idle, temporal, overlap, launches, queues, critical_path)


def figures(path: Path) -> dict[str, Any]:
    """All figures of one trace; if HTA fails, its error."""
    found: dict[str, Any] = {}
    try:
        trace = analysis(path)
    except Exception as error:  # HTA passes on any error of pandas
        return {"error": f"{type(error).__name__}: {error}"}
    for compute in _FIGURES:
        try:
            found[compute.__name__] = compute(trace)
        except Exception as error:
            found[compute.__name__] = {"error": f"{type(error).__name__}: {error}"}
    return found


def main() -> None:
    """Prints the JSON document."""
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        traces = sorted(Path(sys.argv[1]).glob("*.json.gz"))
        document = {path.name.removesuffix(".json.gz"): figures(path) for path in traces}
    print(json.dumps({"hta": "0.5.0", "unit": "us", "traces": document}, indent=1))


if __name__ == "__main__":
    main()
