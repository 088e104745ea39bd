"""The tables of other profilers, by the names that `--view` takes, and what their columns mean."""

from __future__ import annotations

# Name: titles in the report, guide, meaning.
PEERS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "paddle.perf": (
        ("Perf Summary",),
        "peers",
        "The table of Paddle's benchmark mode: step time, time in the loader, steps per second.",
    ),
    "paddle.overview": (
        ("Overview Summary",),
        "peers",
        "Paddle's types of events, on the host and on GPUs. Types contain each other, so ratios do not sum "
        "to 100 %.",
    ),
    "paddle.model": (
        ("Model Summary",),
        "peers",
        "The parts of a step by Paddle's definitions: loader, forward, backward, optimization, others.",
    ),
    "paddle.operator": (
        ("Operator Summary",),
        "peers",
        "Outermost operators, each with the operators that it called directly.",
    ),
    "paddle.userdefined": (("UserDefined Summary",), "peers", "The program's own ranges."),
    "paddle.device": (("Device Summary",), "peers", "Utilization of processors and GPUs."),
    "paddle.memory": (
        ("Memory Summary", "Memory Summary - CPU"),
        "memory",
        "Memory allocated and freed on the CPU (`--memory`), by the innermost operator or range.",
    ),
    "tb.overview": (
        ("Step Time Breakdown", "GPU Summary"),
        "peers",
        "The average step and the first steps, divided into the TensorBoard plugin's categories; with a GPU "
        "also its utilization.",
    ),
    "tb.operator": (("Operator View",), "peers", "Operators of the whole recording, by name."),
    "tb.module": (("Module View",), "peers", "Modules of the whole recording, and their backward passes."),
    "tb.memory": (
        ("Memory View", "Memory Events"),
        "memory",
        "Memory allocated and freed on the CPU (`--memory`), by operator, and the largest storages.",
    ),
}
_RATIO = "Share of the steps' time."
_OF_GPU = "Time on GPUs of the work launched in it"

_SUMMARY: dict[str, str] = {
    "Name": "Name of the phase, operator or range.",
    "Calls": "How often it ran.",
    "CPU Total": "Wall time of all calls.",
    "CPU Avg": "CPU Total divided by Calls.",
    "CPU Max": "The longest call.",
    "CPU Min": "The shortest call.",
    "CPU Ratio": "CPU Total divided by the steps' time; in *Operator Summary* by all operators' time, and in "
    "the rows below an operator by that operator's time.",
    "GPU Total": f"{_OF_GPU}.",
    "GPU Avg": "GPU Total divided by Calls.",
    "GPU Max": f"{_OF_GPU}: maximum over the calls.",
    "GPU Min": f"{_OF_GPU}: minimum over the calls.",
    "GPU Ratio": "GPU Total divided by the corresponding time on GPUs.",
}
_DURATIONS: dict[str, str] = {
    "Device Self Duration": "Time on GPUs of what it launched itself.",
    "Device Total Duration": "Time on GPUs of everything launched by it and by what it called.",
    "Host Self Duration": "Time on the host, without the operators and the calls of CUDA inside it.",
    "Host Total Duration": "Time on the host, including everything inside it.",
}

PEER_COLUMNS: dict[str, dict[str, str]] = {
    "paddle.perf": {
        "avg": "Mean over the steps.",
        "max": "Largest value of a step.",
        "min": "Smallest value of a step.",
    },
    "paddle.overview": {
        "Event Type": "**ProfileStep**: a whole step. **Dataloader**: the loader's `next`. **Forward**: "
        "calls of outermost modules. **Backward**: from the first to the last operator of a call of "
        "backward. **Optimization**: `optimizer.step()`. **Operator**: not within another operator. "
        "**OperatorInner**: within another operator. **UserDefined**: the program's own ranges. "
        "**CudaRuntime**: calls of CUDA's API. **Kernel**: kernels on GPUs. **Memcpy**: copies on GPUs. "
        "**Memset**: fills on GPUs. **Communication**: kernels of NCCL.",
        "Calls": "Number of events.",
        "CPU Time": "Time during which at least one was open, on any thread.",
        "GPU Time": "Time during which at least one ran on a GPU.",
        "Ratio": _RATIO,
    },
    "paddle.model": {
        **_SUMMARY,
        "Name": "**ProfileStep**: a whole step. **Dataloader**: the loader's `next`. **Forward**: calls of "
        "outermost modules; a loss that is a function is in Others. **Backward**: from the first to the last "
        "operator of a call of backward. **Optimization**: `optimizer.step()`. **Others**: the rest of the "
        "step.",
    },
    "paddle.operator": _SUMMARY,
    "paddle.userdefined": _SUMMARY,
    "paddle.device": {
        "Device": "**CPU(Process)**: CPU time of this process, 100 % per core. **CPU(System)**: CPU time of "
        "all processes on the processors that this process may use.",
        "Utilization": "CPU time divided by wall time; for a GPU: share of the steps' time in which a kernel "
        "ran.",
    },
    "paddle.memory": {
        "Name": "The innermost operator or range.",
        "Type": "The kind of memory: allocated, which is what the program requested.",
        "Allocation Count": "Number of allocations in it, without the events inside it.",
        "Free Count": "Number of storages freed in it.",
        "Allocation Size": "Bytes allocated in it.",
        "Free Size": "Bytes freed in it, wherever they were allocated.",
        "Increased Size": "Allocation Size minus Free Size.",
    },
    "tb.overview": {
        "Category": "Each moment counts for the first of these that is active on any thread. **Kernel**: "
        "kernels on GPUs. **Memcpy**: copies on GPUs. **Memset**: fills on GPUs. **Communication**: kernels "
        "of NCCL, collectives. **Runtime**: calls of CUDA's API. **DataLoader**: the loader's `next`. "
        "**CPU Exec**: operators and ranges. **Other**: the rest, such as Python outside of operators.",
        "Time Duration": "Mean time in a step.",
        "Percentage": "Share of the mean step.",
        "Step": "Number of the step.",
        "Memory": "Memory of the GPU.",
        "Compute Capability": "NVIDIA's version number of the GPU's features.",
        "GPU Utilization": "Share of the steps' time during which at least one kernel ran.",
        "Est. SM Efficiency": "Mean share of multiprocessors with at least one block of a running kernel.",
        "Est. Achieved Occupancy": "Estimated share of a multiprocessor's threads in use while kernels ran.",
        "Kernel Time using Tensor Cores": "Share of kernel time in kernels that the plugin lists by name.",
    },
    "tb.operator": {
        "Name": "Name of the operator.",
        "Input Shape": "Its inputs, with `--group signature`.",
        "Calls": "Number of calls.",
        **_DURATIONS,
    },
    "tb.module": {
        "Module Name": "Path of the module. `X.backward` is the backward pass of what X called.",
        "Occurences": "Number of calls of the module. With `+` the least number: calls without an operator "
        "outside of the module between them look like one.",
        "Operators": "Number of operators that it called.",
        **_DURATIONS,
    },
    "tb.memory": {
        "Operator Name": "Name of the operator.",
        "Calls": "Number of calls. A call inside another of the same name counts too, as in the plugin.",
        "Size Increase": "Bytes allocated minus bytes freed in it.",
        "Self Size Increase": "The same, without the operators inside it.",
        "Allocation Count": "Number of allocations in it.",
        "Self Allocation Count": "The same, without the operators inside it.",
        "Allocation Size": "Bytes allocated in it.",
        "Self Allocation Size": "The same, without the operators inside it.",
        "Operator": "The operator that allocated the storage.",
        "Size": "Size of the storage.",
        "Allocation Time": "Time of the allocation, since the start.",
        "Release Time": "Time at which it was freed; - if it was not.",
        "Duration": "Time between allocation and release.",
    },
}
