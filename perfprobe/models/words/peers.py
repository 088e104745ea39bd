"""The tables of other profilers, by the names that `--view` takes, and what their columns mean."""

from __future__ import annotations

# Name: titles in the report, guide, meaning.
PEERS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "paddle.perf": (
        ("Perf Summary",),
        "peers",
        "What Paddle's benchmark mode prints: the time of a step, the loader's part of it, steps per second.",
    ),
    "paddle.overview": (
        ("Overview Summary",),
        "peers",
        "Paddle's types of events, on the host and on GPUs. Types lie within each other, so ratios do not "
        "sum to 100 %.",
    ),
    "paddle.model": (
        ("Model Summary",),
        "peers",
        "What steps consist of, by Paddle's definitions: loader, forward, backward, optimization, others.",
    ),
    "paddle.operator": (
        ("Operator Summary",),
        "peers",
        "Operators that no other operator called, with those that each of them called directly.",
    ),
    "paddle.userdefined": (("UserDefined Summary",), "peers", "The ranges that the program itself sets."),
    "paddle.device": (("Device Summary",), "peers", "How busy processors and GPUs were."),
    "paddle.memory": (
        ("Memory Summary", "Memory Summary - CPU"),
        "memory",
        "Memory allocated and freed on the CPU (`--memory`), by the innermost operator or range.",
    ),
    "tb.overview": (
        ("Step Time Breakdown", "GPU Summary"),
        "peers",
        "The average step and the first ones, divided into the TensorBoard plugin's categories. With a GPU "
        "also how well it was used.",
    ),
    "tb.operator": (("Operator View",), "peers", "Operators of the whole recording, by name."),
    "tb.module": (("Module View",), "peers", "Modules of the whole recording, and their backward."),
    "tb.memory": (
        ("Memory View", "Memory Events"),
        "memory",
        "Memory allocated and freed on the CPU (`--memory`), by operator, and the largest storages.",
    ),
}
_RATIO = "Part of the steps' time."
_OF_GPU = "Time on GPUs of what was launched in it"

_SUMMARY: dict[str, str] = {
    "Name": "Name of the phase, operator or range.",
    "Calls": "How often it ran.",
    "CPU Total": "Wall time of all calls.",
    "CPU Avg": "CPU Total divided by Calls.",
    "CPU Max": "The longest call.",
    "CPU Min": "The shortest call.",
    "CPU Ratio": "CPU Total as a part: of the steps' time; in *Operator Summary* of all operators' time, and "
    "for what ran within an operator, below it, of that operator's.",
    "GPU Total": f"{_OF_GPU}.",
    "GPU Avg": "GPU Total divided by Calls.",
    "GPU Max": f"{_OF_GPU}: the most of a call.",
    "GPU Min": f"{_OF_GPU}: the least of a call.",
    "GPU Ratio": "The same part of the time on GPUs.",
}
_DURATIONS: dict[str, str] = {
    "Device Self Duration": "Time on GPUs of what it launched itself.",
    "Device Total Duration": "Time on GPUs of what it and all within it launched.",
    "Host Self Duration": "Time on the host without operators inside it and without calls of CUDA.",
    "Host Total Duration": "Time on the host, with all within it.",
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
        "CPU Time": "Time in which at least one was open, on any thread.",
        "GPU Time": "Time in which at least one ran on a GPU.",
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
        "Device": "**CPU(Process)**: CPU time of the process, 100 % for each core. **CPU(System)**: that of "
        "all processes, of the processors this one may use.",
        "Utilization": "CPU time divided by wall time; of a GPU: part of the steps' time in which a kernel "
        "ran.",
    },
    "paddle.memory": {
        "Name": "The innermost operator or range.",
        "Type": "What memory is counted: allocated, as the program asked for it.",
        "Allocation Count": "Number of allocations in it, but in none of the events inside it.",
        "Free Count": "Number of storages freed there.",
        "Allocation Size": "Bytes allocated there.",
        "Free Size": "Bytes freed there, whoever had allocated them.",
        "Increased Size": "Allocation Size minus Free Size.",
    },
    "tb.overview": {
        "Category": "Each moment is of the first category, in this order, at work on any thread. **Kernel**: "
        "kernels on GPUs. **Memcpy**: copies on GPUs. **Memset**: fills on GPUs. **Communication**: kernels "
        "of NCCL, collectives. **Runtime**: calls of CUDA's API. **DataLoader**: the loader's `next`. "
        "**CPU Exec**: operators and ranges. **Other**: all else, such as Python outside of operators.",
        "Time Duration": "Mean time in a step.",
        "Percentage": "Part of the mean step.",
        "Step": "Number of the step.",
        "Memory": "Memory of the GPU.",
        "Compute Capability": "NVIDIA's version of the GPU's features.",
        "GPU Utilization": "Part of the steps' time in which at least one kernel ran.",
        "Est. SM Efficiency": "Mean part of the multiprocessors that had a block of a running kernel.",
        "Est. Achieved Occupancy": "How full of threads multiprocessors were while kernels ran, by estimate.",
        "Kernel Time using Tensor Cores": "Part of the kernels' time whose names are in the plugin's list.",
    },
    "tb.operator": {
        "Name": "Name of the operator.",
        "Input Shape": "Its inputs, with `--group signature`.",
        "Calls": "Number of calls.",
        **_DURATIONS,
    },
    "tb.module": {
        "Module Name": "Path of the module. `X.backward` is backward of what X called.",
        "Occurences": "Number of calls of the module, known only from traces with Python calls.",
        "Operators": "Number of operators that it called.",
        **_DURATIONS,
    },
    "tb.memory": {
        "Operator Name": "Name of the operator.",
        "Calls": "Number of calls. One inside another of the same name counts too, as in the plugin.",
        "Size Increase": "Bytes allocated minus bytes freed in it.",
        "Self Size Increase": "The same in none of the operators inside it.",
        "Allocation Count": "Number of allocations in it.",
        "Self Allocation Count": "The same in none of the operators inside it.",
        "Allocation Size": "Bytes allocated in it.",
        "Self Allocation Size": "The same in none of the operators inside it.",
        "Operator": "Of one of the largest storages: the operator that allocated it.",
        "Size": "Its bytes.",
        "Allocation Time": "When it was allocated, from the start on.",
        "Release Time": "When it was freed; - if it was not.",
        "Duration": "Time between the two.",
    },
}
