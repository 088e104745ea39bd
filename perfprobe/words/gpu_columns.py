"""What the columns about idle time, overlap, launches and the critical path mean, by section and title."""

from __future__ import annotations

_LINE = "Line of the program."

MEMORY: dict[str, str] = {
    "GPU": "Number of the device, as torch counts them.",
    "at peak": "Most bytes in tensors at once, as `torch.cuda.max_memory_allocated` counts them.",
    "of capacity": "**at peak** divided by **capacity**.",
    "reserved": "Most bytes that torch's allocator had taken from the device, including those that it keeps "
    "for later tensors.",
    "capacity": "Memory of the device.",
    "step's end": "Bytes in tensors at the end of a step: median.",
    "growth/step": "Growth of **step's end** from one step to the next: median slope over all pairs of "
    "steps. Empty if it does not grow in every quarter of the run.",
    "held": "Bytes in tensors at the end of the recording.",
    "retries": "How often an allocation did not fit at first: torch then waits for the device, empties its "
    "cache and tries again.",
    "model": "Name of the device.",
}

STATE: dict[str, str] = {
    "GPU": "Number of the device.",
    "readings": "How often it was read.",
    "in use": "How many of these readings while it was in use: NVML saw a kernel of any process, or work of "
    "the program ran in the second before. All other figures are of these readings.",
    "throttled": "Share of readings in which power, temperature or the hardware kept the clocks down.",
    "power cap": "Share of readings with this reason: the board is at its limit of power.",
    "thermal": "Share of readings with this reason: the GPU or its memory is too hot.",
    "hardware": "Share of readings with this reason: the hardware has slowed itself down, for power or "
    "temperature.",
    "power brake": "Share of readings with this reason: the power supply told the board to slow down.",
    "sync boost": "Share of readings with this reason: the clocks are held equal to those of other GPUs. Not "
    "throttling.",
    "clocks set": "Share of readings with this reason: somebody has set the clocks (`nvidia-smi -ac`). Not "
    "throttling.",
    "SM clock": "Clock of the multiprocessors: median.",
    "lowest": "Lowest clock of the multiprocessors.",
    "highest": "Highest clock of the multiprocessors.",
    "maximum": "Highest clock of the multiprocessors that the driver allows.",
    "memory clock": "Clock of the memory: median.",
    "power": "Power of the board: mean.",
    "most power": "Highest power of the board.",
    "hottest": "Highest temperature of the GPU, in degrees Celsius.",
    "memory used": "Most memory in use on the device, by any process.",
    "model": "Name of the device.",
}

IDLE: dict[str, str] = {
    "GPU": "Number of the device.",
    "of idle": "Share of the idle time of the device.",
    "idle": "Time during which nothing ran on the GPU while the host did what the row says.",
    "a step": "Mean idle time of this kind in a steady step.",
    "gaps": "Number of gaps that contain some of it.",
    "longest": "Longest part of one gap.",
    "while the host": "Activity of the host: data loading, garbage collection, compile, allocator "
    "(`cudaMalloc` and the like), operators on the host, Python between launches, launch (from the call "
    "until the kernel began, and other calls of CUDA). Synchronising call and pageable copy: the host had "
    "waited for the GPU, so nothing was queued when the GPU finished; this counts for at most as long as the "
    "host waited. Between kernels: short gaps before work that was queued.",
    "call": "Function of CUDA's API during which it happened.",
    "operator": "Outermost operator there.",
    "line": _LINE,
    "phase": "Phase of that operator.",
    "stream": "Number of the stream.",
    "host wait": "Gaps during which the next work was not launched yet.",
    "kernel wait": "Gaps of less than 30 us before work that was queued.",
    "other wait": "All other gaps: work was queued but did not begin, for example behind another stream.",
}

OVERLAP: dict[str, str] = {
    "GPU": "Number of the device.",
    "work": "Kernels that compute, kernels that communicate (NCCL's), or copies and fills.",
    "time": "Time during which at least one of them ran.",
    "alone": "Share of that time during which nothing else ran.",
    "while computing": "Share of that time during which computing kernels ran too.",
    "while communicating": "Share of that time during which kernels of NCCL ran too.",
    "while copying": "Share of that time during which copies or fills ran too.",
}

LAUNCHES: dict[str, str] = {
    "in calls": "Time in the launching calls.",
    "launches": "Number of launches of kernels, copies, fills and CUDA graphs.",
    "short": "Number of launches that took longer than the work they launched, and at most 50 us.",
    "GPU time": "Time on the GPU of the launched work.",
    "mean delay": "Mean time from the end of the call to the start of its work; 0 if the work began earlier.",
    "longest delay": "Longest of these times.",
    "operator": "Operator that launched it.",
    "line": _LINE,
    "phase": "Phase of that operator.",
    "GPU": "Number of the device.",
    "stream": "Number of the stream.",
    "long calls": "Number of calls of more than 50 us.",
    "delayed": "Number of launches with more than 100 us between the call and the start of the work.",
    "median call": "Median duration of the calls.",
    "median delay": "Median time from the end of the call to the start of its work.",
    "p95 delay": "95th percentile of these times.",
    "mean queue": "Mean number of launches that waited for their work to begin.",
    "longest queue": "Largest number of waiting launches at one moment.",
    "queue empty": "Share of the time with an empty queue: the program did not launch ahead of the GPU.",
    "queue full": "Share of the time with 1,024 or more launches queued; CUDA then makes the program wait.",
    "launch-bound": "Time in stretches of five or more launches, each made after the work before had ended.",
    "longest": "Number of launches in the longest of these stretches.",
}

CRITICAL_PATH: dict[str, str] = {
    "of path": "Share of the length of the path.",
    "saves at most": "Time on the path. Removing it saves at most this much, because another path may then "
    "be the longest.",
    "a step": "Mean of this time over the steady steps.",
    "stretches": "Number of stretches of the path.",
    "longest": "Duration of the longest stretch.",
    "bound by": "operators on the host (with calls of CUDA), computing kernels, communication, copies, "
    "between kernels (of one stream), launches (from the start of the call to the start of its kernel), "
    "Python between operators, or data loading.",
    "kernel or call": "Name of the kernel, or of the function of CUDA's API.",
    "operator": "Innermost operator; for a kernel the operator that launched it.",
    "line": _LINE,
    "phase": "Phase of that operator.",
}

SEQUENCES: dict[str, str] = {
    "total": "Time from the start of the first kernel to the end of the last, summed over all runs of the "
    "sequence.",
    "GPU time": "The part of total during which the kernels ran.",
    "in calls": "Time of the calls that launched them.",
    "times": "How often the sequence ran.",
    "kernels": "Number of its kernels. Sequences are cut after 512 kernels.",
    "operators": "Operators that launched them, in order. `x 2`: launched two in a row. The last number is "
    "how often the whole pattern repeats.",
    "module": "Module that launched all of them.",
    "line": _LINE,
    "phase": "Phase of the operators.",
}
