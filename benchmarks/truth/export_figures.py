"""What torch-tb-profiler and HolisticTraceAnalysis compute from traces; frozen in `export_figures.json`.

Run it with an interpreter that has one of them (torch-tb-profiler 0.4.3, HolisticTraceAnalysis 0.5.0 with
pandas 2.2); it prints JSON. The frozen figures are those of the trace that tests/report/traced.py makes:

    python -m tests.report.traced made.json
    python benchmarks/truth/export_figures.py made.json

Times are microseconds. HTA's own rounding of times to whole microseconds is off: it takes up to 2 us from
every kernel.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"

_MOST_GPUS = 64


def plugin_figures(path: Path) -> dict[str, Any]:
    """By torch-tb-profiler: time of kernels by name, the average step and its parts, figures of each GPU."""
    data = import_module("torch_tb_profiler.profiler.data")
    roles = import_module("torch_tb_profiler.profiler.event_parser").ProfileRole
    with TemporaryDirectory() as cache:
        run = data.RunProfileData.parse("worker", "0", str(path), cache)
    sums = run.kernel_stat["sum"].to_dict() if run.has_kernel else {}
    gpus, found = run.gpu_metrics_parser, {}
    for gpu in sorted(gpus.gpu_ids):
        found[str(gpu)] = {
            "utilization": gpus.gpu_utilization[gpu],
            "sm_efficiency": gpus.avg_approximated_sm_efficiency_per_device[gpu],
            "occupancy_percent": gpus.avg_occupancy_per_device[gpu],
            "tensor_core_ratio": run.tc_ratio[gpu],
        }
    return {
        "kernel_us": {name: round(float(value), 3) for name, value in sorted(sums.items())},
        "step_us": {role.name: round(run.avg_costs.costs[role], 3) for role in roles},
        "steps": run.steps_names,
        "gpus": found,
    }


def hta_figures(path: Path) -> dict[str, Any]:
    """By HolisticTraceAnalysis: time of kernels by name, idle and computing time."""
    hta = import_module("hta.trace_analysis")
    analysis = hta.TraceAnalysis(trace_files={0: str(path)}, include_last_profiler_step=True)
    rows, names = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
    category = rows["cat"].map(lambda at: names[at])
    kernels = rows[category.isin(["kernel", "Kernel"])]
    sums = kernels.groupby("name")["dur"].sum()
    found: dict[str, Any] = {
        "kernel_us": {names[at]: round(float(value), 3) for at, value in sums.items()},
        "steps": sorted(
            name for name in set(rows["name"].map(lambda at: names[at])) if "ProfilerStep" in name
        ),
    }
    with contextlib.suppress(ValueError, KeyError, IndexError):  # some traces of one stream
        row = analysis.get_temporal_breakdown(visualize=False).to_dict("records")[0]
        found["time_us"] = {name: float(value) for name, value in row.items() if name.endswith("(us)")}
    return found


def figures(path: Path) -> dict[str, Any]:
    """By the tool that is here, with its name."""
    is_plugin = find_spec("torch_tb_profiler") is not None
    try:
        return {"plugin": plugin_figures(path)} if is_plugin else {"hta": hta_figures(path)}
    except Exception as error:  # of either, on a trace that it cannot read
        return {"failed": type(error).__name__}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(sys.stderr):
        written = {Path(name).name: figures(Path(name)) for name in sys.argv[1:]}
    print(json.dumps(written, indent=1, sort_keys=True))
