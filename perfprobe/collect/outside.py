"""Finds other profilers that run this program, by what they set in its environment."""

from __future__ import annotations

import os

# Variables of Nsight's tools, which hold CUPTI exclusively and listen to NVTX.
NSIGHT = {
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems",
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR": "Nsight Compute",
    "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN": "compute-sanitizer",
    "NV_NSIGHT_INJECTION_TRANSPORT_TYPE": "an Nsight tool",
}
ITT_COLLECTOR = "INTEL_LIBITTNOTIFY64"


def nsight() -> str | None:
    """Returns the name of NVIDIA's tool that runs this process; None without one."""
    return next((tool for variable, tool in NSIGHT.items() if os.environ.get(variable)), None)
