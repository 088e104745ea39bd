"""What functions of CUDA's and HIP's API do, by their names."""

from __future__ import annotations

BEGIN_CAPTURE = ("cudaStreamBeginCapture", "cuStreamBeginCapture", "hipStreamBeginCapture")
END_CAPTURE = ("cudaStreamEndCapture", "cuStreamEndCapture", "hipStreamEndCapture")
LAUNCH = (
    *("cudaLaunchKernel", "cudaLaunchCooperative", "cuLaunchKernel", "cuLaunchCooperative"),
    *("hipLaunchKernel", "hipLaunchCooperative", "hipExtLaunch", "hipModuleLaunch", "hipExtModuleLaunch"),
)
COPY = ("cudaMemcpy", "cudaMemset", "cuMemcpy", "cuMemset", "hipMemcpy", "hipMemset")
GRAPH_LAUNCH = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")


def is_launch(name: str) -> bool:
    """Whether a function with this name launches a kernel or a graph."""
    return name.startswith((*LAUNCH, *GRAPH_LAUNCH))
