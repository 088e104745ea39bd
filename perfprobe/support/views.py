"""The names that `--view` takes. Help, errors, JSON and report use these declarations."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Needed:
    """What must be recorded for a section.

    sources: as `models.left_out` names them. together: whether it needs several recordings, in one report.
    """

    def __init__(self, what: str, sources: tuple[str, ...] = (), *, together: bool = False) -> None:
        self.what = what
        self.sources = sources
        self.together = together


_OPERATORS = Needed("operators", ("operators",))
_IN_STEPS = Needed("operators, where there are steps some in them", ("operators",))
_GPU = Needed("a CUDA GPU", ("gpu",))
_STEPS = Needed("a loop that trains or calls a model, or perfprobe.step()", ("operators",))
_TRACE = "a trace of torch 2 with profile_memory=True"
_MEMORY = Needed(f"memory: `perfprobe run --memory`, or {_TRACE}", ("memory",))
_MODULES = Needed("operators called in nn.Modules", ("operators",))

# The sections of a report, in their order, each with what must be recorded for it.
SECTION_VIEWS: Mapping[str, Needed] = {
    "summary": _OPERATORS,
    "benchmark": Needed("--benchmark"),
    "slow-steps": Needed("--keep slow"),
    "operators": _OPERATORS,
    "efficiency": Needed("measurements: `perfprobe bench` makes them"),
    "lines": _OPERATORS,
    "modules": _MODULES,
    "steps": _STEPS,
    "phases": _STEPS,
    "start-up": Needed("the sampler of Python functions", ("samples",)),
    "advice": _STEPS,
    "memory": _MEMORY,
    "gpu-memory": Needed(f"memory of GPUs: `perfprobe run --memory`, or {_TRACE}", ("gpu", "memory")),
    "gpus": _GPU,
    "gpu-use": Needed("operators, and a CUDA GPU", ("operators", "gpu")),
    "gpu-state": Needed("a CUDA GPU in use for more than a second, and NVML of its driver", ("gpu",)),
    "idle": _GPU,
    "overlap": Needed(
        "two kinds of work on a CUDA GPU: kernels that compute, kernels that communicate, copies", ("gpu",)
    ),
    "kernels": _GPU,
    "tensor-cores": _GPU,
    "copies": _GPU,
    "waits": _GPU,
    "cuda-calls": _GPU,
    "launches": _GPU,
    "sequences": Needed("three or more short kernels in a row on a CUDA GPU", ("gpu",)),
    "critical-path": _OPERATORS,
    "functions": Needed("Python functions", ("functions",)),
    "tests": Needed("tests that pytest or unittest runs, and the sampler of Python functions", ("samples",)),
    "between": _OPERATORS,
    "ranges": Needed(
        "ranges that the program sets: torch.profiler.record_function, NVTX or ITT", ("ranges",)
    ),
    "ranks": Needed(
        "all recordings of a run of several ranks: `perfprobe report FILES --view ranks`", together=True
    ),
    "workers": Needed("a DataLoader with num_workers, in a program that perfprobe runs", ("children",)),
    "threads": Needed("a run of more than 0.5 s on Linux"),
    "native": Needed("--native, where the kernel permits it (`perfprobe doctor` says)", ("native",)),
    "counters": Needed("--counters", ("counters",)),
    "sources": Needed("both sources of operators: --operators both"),
    "tries": Needed("a change put on the program: `perfprobe run --try`"),
    "environment": Needed("a run of the program by perfprobe"),
    "missing": Needed("nothing: no row is good news"),
    "children": Needed(
        "child processes that multiprocessing starts, in a program that perfprobe runs", ("children",)
    ),
}

# The tables of other profilers, with their columns and definitions.
PEER_VIEWS: Mapping[str, Needed] = {
    "paddle.perf": _IN_STEPS,
    "paddle.overview": _IN_STEPS,
    "paddle.model": _IN_STEPS,
    "paddle.operator": _IN_STEPS,
    "paddle.userdefined": Needed(
        "ranges that the program sets: torch.profiler.record_function", ("operators",)
    ),
    "paddle.device": Needed("a run of more than 0.5 s on Linux, or a CUDA GPU"),
    "paddle.kernel": _GPU,
    "paddle.distributed": Needed("kernels or operators that communicate, and a CUDA GPU", ("gpu",)),
    "paddle.memory": _MEMORY,
    "tb.overview": _IN_STEPS,
    "tb.operator": _OPERATORS,
    "tb.module": _MODULES,
    "tb.memory": _MEMORY,
}

VIEWS = (*SECTION_VIEWS, *PEER_VIEWS)


def needed_for(view: str) -> Needed:
    """Returns what must be recorded for one of `VIEWS`."""
    return {**SECTION_VIEWS, **PEER_VIEWS}[view]


def command(view: str) -> str:
    """Returns the words after `perfprobe` that print one of `VIEWS`. Raises KeyError for others."""
    needed_for(view)
    return f"report --view {view}"


# Sort keys of torch and Paddle, each with our key.
PEER_SORTS: Mapping[str, str] = {
    **{"CPUTotal": "total", "CPUAvg": "mean", "CPUMax": "max", "CPUMin": "min"},
    **{"GPUTotal": "gpu-total", "GPUAvg": "gpu-mean", "GPUMax": "gpu-max", "GPUMin": "gpu-min"},
    **{"cpu_time_total": "total", "self_cpu_time_total": "self", "cpu_time": "mean", "count": "calls"},
    **{"cuda_time_total": "gpu-total", "self_cuda_time_total": "gpu", "cuda_time": "gpu-mean"},
    **{"device_time_total": "gpu-total", "self_device_time_total": "gpu", "device_time": "gpu-mean"},
}
