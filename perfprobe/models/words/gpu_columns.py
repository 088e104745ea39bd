"""What the columns about idle time, overlap, launches and the critical path mean, by section and title."""

from __future__ import annotations

_LINE = "Line of the program."

MEMORY: dict[str, str] = {
    "GPU": "Number of the device, as torch counts them.",
    "at peak": "Most bytes of tensors at once, as `torch.cuda.max_memory_allocated` counts them.",
    "of capacity": "**at peak** divided by **capacity**.",
    "reserved": "Most bytes that torch's allocator had taken from the device, with those that it kept for "
    "later tensors.",
    "capacity": "Memory of the device.",
    "step's end": "Bytes of tensors when a step ended: median.",
    "growth/step": "Growth of that from one step to the next: median slope over all pairs of steps. Empty if "
    "it does not grow in every quarter of the run.",
    "held": "Bytes of tensors at the recording's end.",
    "retries": "How often an allocation did not fit: torch then waits for the device, empties its cache and "
    "tries again.",
    "model": "Name of the device.",
}

IDLE: dict[str, str] = {
    "GPU": "Number of the device.",
    "of idle": "Part of the idle time of the device.",
    "idle": "Time in which nothing ran on the GPU while the host did what the row says.",
    "a step": "Mean idle time of this kind in a steady step.",
    "gaps": "Number of gaps that contain some of it.",
    "longest": "Longest part of one gap.",
    "while the host": "What the host did: data loading, garbage collection, compile, allocator "
    "(`cudaMalloc` and the like), its part of operators, Python between launches, launch (from the call "
    "until the kernel began, and other calls of CUDA). Synchronising call and pageable copy: the host waited "
    "for the GPU, so that nothing was queued when the GPU was done; at most as long as it waited. "
    "Between kernels: short gaps before work that was queued.",
    "call": "Function of CUDA's API that shows it.",
    "operator": "Outermost operator there.",
    "line": _LINE,
    "phase": "Phase of that operator.",
    "stream": "Number of the stream.",
    "host wait": "Gaps whose next work was launched after they began.",
    "kernel wait": "Gaps of less than 30 us before work that was queued.",
    "other wait": "All other gaps: work was queued but did not begin, such as behind another stream.",
}

OVERLAP: dict[str, str] = {
    "GPU": "Number of the device.",
    "work": "Kernels that compute, kernels that communicate (NCCL's), or copies and fills.",
    "time": "Time in which at least one of them ran.",
    "alone": "Part of that time in which nothing else ran.",
    "while computing": "Part of that time in which a kernel computed too.",
    "while communicating": "Part of that time in which a kernel of NCCL ran too.",
    "while copying": "Part of that time in which a copy or fill ran too.",
}

LAUNCHES: dict[str, str] = {
    "in calls": "Time in the calls that launched.",
    "launches": "Number of launches of kernels, copies, fills and CUDA graphs.",
    "short": "Launches of work shorter than their call, which took at most 50 us.",
    "GPU time": "Time of the work that they launched.",
    "mean delay": "Mean time from the end of the call to the start of its work, 0 if it began before.",
    "longest delay": "Longest of these times.",
    "operator": "Operator that launched it.",
    "line": _LINE,
    "phase": "Phase of that operator.",
    "GPU": "Number of the device.",
    "stream": "Number of the stream.",
    "long calls": "Calls of more than 50 us.",
    "delayed": "Launches whose work began more than 100 us after the call.",
    "median call": "Median duration of the calls.",
    "median delay": "Median time from the end of the call to the start of its work.",
    "p95 delay": "95th percentile of these times.",
    "mean queue": "Mean number of launches whose work had not begun.",
    "longest queue": "Largest number of them at one moment.",
    "queue empty": "Part of the time with nothing queued: the program did not launch ahead of the GPU.",
    "queue full": "Part of the time with 1,024 or more in the queue, where CUDA makes the program wait.",
    "launch-bound": "Time of stretches of five or more launches, each after the work before it had ended.",
    "longest": "Launches of the longest of these stretches.",
}

CRITICAL_PATH: dict[str, str] = {
    "of path": "Part of the length of the path.",
    "saves at most": "Time on the path. Removing it saves no more: then another path may be the longest.",
    "a step": "The same in a steady step, on average.",
    "stretches": "Number of stretches of the path.",
    "longest": "Longest of them.",
    "bound by": "operators on the host (with calls of CUDA), computing kernels, communication, copies, "
    "between kernels (of one stream), launches (from the start of the call to that of its "
    "kernel), Python between operators, or data loading.",
    "kernel or call": "Name of the kernel, or of the function of CUDA's API.",
    "operator": "Innermost operator; of a kernel that which launched it.",
    "line": _LINE,
    "phase": "Phase of that operator.",
}

SEQUENCES: dict[str, str] = {
    "total": "Time from the start of the first kernel to the end of the last, all times together.",
    "GPU time": "Part of it in which the kernels ran.",
    "in calls": "Time of the calls that launched them.",
    "times": "How often the sequence ran.",
    "kernels": "Number of its kernels; of 512 it is cut.",
    "operators": "Operators that launched them, in their order; `x 2` where one did so twice, and at the end "
    "how often all of it repeats.",
    "module": "Module that launched all of them.",
    "line": _LINE,
    "phase": "Phase of the operators.",
}
