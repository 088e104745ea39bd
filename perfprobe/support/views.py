"""The names that `--view` takes. Help, errors, JSON and report use these declarations."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OPERATORS = "operators (--operators off records none)"
_GPU = "a CUDA GPU (--gpu off records none)"
_STEPS = "a loop that trains or calls a model, or perfprobe.step()"
_TRACE = "a trace of torch 2 with profile_memory=True"
_MEMORY = f"memory: `perfprobe run --memory`, or {_TRACE}"
_MODULES = "operators called in nn.Modules (--operators off records none)"

# The sections of a report, in their order, each with what must be recorded for it.
SECTION_VIEWS: Mapping[str, str] = {
    "summary": _OPERATORS,
    "benchmark": "--benchmark",
    "slow-steps": "--keep slow",
    "operators": _OPERATORS,
    "efficiency": "measurements: `perfprobe bench` makes them",
    "lines": _OPERATORS,
    "modules": _MODULES,
    "steps": _STEPS,
    "phases": _STEPS,
    "start-up": "the sampler of Python functions (--python off and cprofile have none)",
    "memory": _MEMORY,
    "gpu-memory": f"memory of GPUs: `perfprobe run --memory`, or {_TRACE}",
    "gpus": _GPU,
    "gpu-use": "operators, and a CUDA GPU (--operators off and --gpu off record none)",
    "gpu-state": "a CUDA GPU in use for more than a second, and NVML of its driver (--gpu off records none)",
    "idle": _GPU,
    "overlap": "two kinds of work on a CUDA GPU: kernels that compute, kernels that communicate, copies",
    "kernels": _GPU,
    "copies": _GPU,
    "waits": _GPU,
    "cuda-calls": _GPU,
    "launches": _GPU,
    "sequences": "three or more short kernels in a row on a CUDA GPU (--gpu off records none)",
    "critical-path": _OPERATORS,
    "functions": "Python functions (--python off records none)",
    "between": _OPERATORS,
    "ranges": "ranges that the program sets: torch.profiler.record_function, NVTX or ITT",
    "ranks": "all recordings of a run of several ranks: `perfprobe report FILES --view ranks`",
    "workers": "a DataLoader with num_workers, without --children off",
    "threads": "a run of more than 0.5 s on Linux",
    "native": "--native, where the kernel permits it (`perfprobe doctor` says)",
    "counters": "--counters",
    "sources": "both sources of operators: --operators both",
    "environment": "a run of the program by perfprobe",
    "losses": "nothing: no losses is good news",
    "children": "child processes that multiprocessing starts, without --children off",
}

# The tables of other profilers, with their columns and definitions.
PEER_VIEWS: Mapping[str, str] = {
    "paddle.perf": _OPERATORS,
    "paddle.overview": _OPERATORS,
    "paddle.model": _OPERATORS,
    "paddle.operator": _OPERATORS,
    "paddle.userdefined": "ranges that the program sets: torch.profiler.record_function",
    "paddle.device": "a run of more than 0.5 s on Linux, or a CUDA GPU",
    "paddle.memory": _MEMORY,
    "tb.overview": _OPERATORS,
    "tb.operator": _OPERATORS,
    "tb.module": _MODULES,
    "tb.memory": _MEMORY,
}

VIEWS = (*SECTION_VIEWS, *PEER_VIEWS)


def recorded_by(view: str) -> str:
    """Returns what must be recorded for one of `VIEWS`."""
    return {**SECTION_VIEWS, **PEER_VIEWS}[view]


def command(view: str) -> str:
    """Returns the words after `perfprobe` that print one of `VIEWS`. Raises KeyError for others."""
    recorded_by(view)
    return f"report --view {view}"


# Sort keys of torch and Paddle, each with our key.
PEER_SORTS: Mapping[str, str] = {
    **{"CPUTotal": "total", "CPUAvg": "mean", "CPUMax": "max", "CPUMin": "min"},
    **{"GPUTotal": "gpu-total", "GPUAvg": "gpu-mean", "GPUMax": "gpu-max", "GPUMin": "gpu-min"},
    **{"cpu_time_total": "total", "self_cpu_time_total": "self", "cpu_time": "mean", "count": "calls"},
    **{"cuda_time_total": "gpu-total", "self_cuda_time_total": "gpu", "cuda_time": "gpu-mean"},
    **{"device_time_total": "gpu-total", "self_device_time_total": "gpu", "device_time": "gpu-mean"},
}
