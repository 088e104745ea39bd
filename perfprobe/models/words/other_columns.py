"""What the columns about Python, steps, processes, GPUs and losses mean, by section and by title."""

from __future__ import annotations

_LINE = "Line of the program."
_OPERATOR = "Operator that launched it."
_OPERATOR_ALONE = "Operator whose calls are long enough to fill the time between two samples."
_MEAN = "Mean duration."
_LONGEST = "Longest duration."

FUNCTIONS: dict[str, str] = {
    "of wall": "tottime as a part of the wall time.",
    "of all": "tottime as a part of the time of all threads' functions, if that is more than the wall time.",
    "tottime": "Time in the function itself, as `pstats` calls it. Imports of libraries are one separate "
    "row. Waiting of threads other than the main one is left out.",
    "cpu": "Part of tottime in which the thread was on a processor. If it is near 0, the function waited.",
    "cumtime": "Time in the function with the functions that it called.",
    "ncalls": "Number of calls. Of `12/3` calls 3 were not recursive; `1,234+` covers a part of the run; "
    "`-` was not counted.",
    "non-ops": "Part of tottime in which no operator ran: Python itself, numpy and other C code, waiting.",
    "own ops": "Time of the operators that the function called itself. Backward counts at the forward call.",
    "all ops": "Time of the operators that it and the functions below it called. May be more than cumtime, "
    "because backward counts at the forward call.",
    "code": "Whose function it is, if not yours: library, torch, standard library.",
    "function": "File and line of its `def`, and its name.",
}

BENCHMARK: dict[str, str] = {
    "measure": "**batch_cost**: time of a whole step. **reader_cost**: the part of it in the loader's "
    "`next`. **ips**: samples per second, or steps per second if the size of a batch cannot be read.",
    "average": "Mean over the steps. For ips: all samples divided by the total time.",
    "median": "Half of the steps have at most this value.",
    "p95": "95 % of the steps have at most this value.",
    "min": "Smallest value of a step.",
    "max": "Largest value of a step.",
    "unit": "Unit of ips.",
}

THREADS: dict[str, str] = {
    "CPU": "CPU time of the thread.",
    "waited": "Time in which the thread was ready to run but had no processor, from the kernel's "
    "scheduler (`/proc/self/task/*/schedstat`).",
    "of wall": "waited as a part of the wall time.",
    "voluntary": "How often the thread gave up its processor to wait, for data, a lock or other threads.",
    "involuntary": "How often the processor was taken from the thread, for another one.",
    "cores": "On how many processors the thread was seen, by a look once a second.",
    "kind": "main, Python, autograd, team (a thread without a name that works for OpenMP or another "
    "library), inter-op, pin memory, CUDA, perfprobe or other.",
    "thread": "Name of the thread.",
    "active": "Mean number of threads that ran while only this operator ran, with two standard errors. "
    "Members of a team that spin count too.",
    "of team": "active as a part of torch's threads: an upper bound of the operator's parallel efficiency.",
    "idle": "CPU time that other members of the team did not use while the caller of the operator ran: "
    "imbalance, or parts of the operator that are serial.",
    "spinning": "CPU time that threads spent at OpenMP's barriers and waiting for work (`--native`).",
    "scheduling": "CPU time that starting teams and dividing work took, by samples (`--native`).",
    "locks": "CPU time that threads spent waiting for OpenMP's locks and critical sections (`--native`).",
    "not running": "CPU time that the team did not use while the caller itself had no processor.",
    "setting": "What `perfprobe threads --sweep` set; with `as it is` it set nothing.",
    "gain": "In the sweep: how many times as fast as the program as it is, median over all pairs of runs. In "
    "Teams, VTune's potential gain: idle, spinning, scheduling and locks divided by the threads.",
    "interval": "Confidence interval of that median, by order statistics.",
    "torch threads": "What torch.get_num_threads() returned at the end of the last run.",
    "best": "The smallest number of threads for which no other number that was measured is certainly "
    "faster by at least 5 %.",
    "speed-up": "How many times as fast the best number of threads is as the smallest one.",
    "inputs": "Inputs of the operator.",
    "looks": "How often this operator filled the time between two samples.",
    "operator": _OPERATOR_ALONE,
    "line": _LINE,
}

STEPS: dict[str, str] = {
    "kind": "training, inference or evaluation.",
    "steps": "Number of steps.",
    "left out": "Steps not in the averages: warm-up, compiling, outliers, the last one if it was cut off.",
    "median": "Median duration of a steady step.",
    "p95": "95th percentile of the durations of steady steps.",
    "p99": "99th percentile of the durations of steady steps.",
    "together": "Time of all steady steps together.",
    "samples/s": "Batch size divided by the median, if a batch size is known.",
    "micro-batches": "Forward and backward passes for each optimizer step (gradient accumulation).",
    "found by": "What marked the steps: `perfprobe.step()`, the profiler's steps, optimizer, loader, model.",
    "loop": "Line of the program that holds the loop.",
    "within": "Function of a library that holds the loop, such as a Trainer.",
}

PHASES: dict[str, str] = {
    "of steps": "Part of the time of steady steps.",
    "phase": "What the step's own thread did.",
    "median": "Median of the phase's time in a step.",
    "together": "Time of the phase in all steady steps.",
    "others busy": "Time of the phase in which other threads ran operators.",
    "GPU busy": "Time of the phase in which a GPU was busy.",
    "children busy": "Time of the phase in which recorded child processes ran, by their samples.",
    "most of it": "Line with most of the phase's time.",
}

START_UP: dict[str, str] = {
    "took": "Time before the first step.",
    "what": "What it was: an import, building models, compiling, the extra time of the first steps.",
    "line": _LINE,
}

WORKERS: dict[str, str] = {
    "dataset": "Class of the dataset.",
    "workers": "Number of worker processes and their start method.",
    "batches": "Batches that they made.",
    "a batch": "Time of a worker for one batch.",
    "dataset's part": "Part of the workers' time in the dataset.",
    "reading": "Part of the workers' time in which the dataset read files, by samples.",
    "transform": "Part of the workers' time in transforms, by samples.",
    "collate": "Part of the workers' time in which items were combined to batches.",
    "put": "Part of the workers' time in which batches were put into the queue.",
    "idle": "Part of the workers' time in which they had no batch to make.",
    "sending": "Time of the queue's own thread, which sends batches beside the rest.",
    "start-up": "Time until the workers were ready.",
    "CPU": "CPU time of the workers.",
    "queued": "Mean number of finished batches in the queue.",
    "most of dataset": "Line of the dataset that took most of its time, by samples.",
}

GPUS: dict[str, str] = {
    "GPU": "Number of the device.",
    "busy of wall": "busy as a part of the wall time.",
    "busy": "Time in which at least one kernel, copy or fill ran. It says that something ran, not that it "
    "used the whole GPU.",
    "first to last": "Time from the first to the last work on the GPU.",
    "kernels": "Number of kernels.",
    "kernel time": "Sum of the times of kernels. Kernels of several streams overlap, so it may be more "
    "than busy.",
    "copies": "Number of copies and fills.",
    "copy time": "Sum of the times of copies and fills.",
    "copied": "Bytes that were copied.",
    "streams": "Number of streams that were used.",
    "model": "Name of the device.",
}

GPU_USE: dict[str, str] = {
    "GPU": "Number of the device.",
    "steps": "From the start of the first step to the end of the last.",
    "utilization": "Part of that time in which at least one kernel ran: the plugin's GPU Utilization.",
    "busy": "Part of that time in which at least one kernel, copy or fill ran.",
    "SM efficiency": "Mean part of the multiprocessors that had a block of a running kernel, over that time "
    "including idle time: the plugin's Est. SM Efficiency.",
    "est. occupancy": "The plugin's Est. Achieved Occupancy: how full of threads multiprocessors are while "
    "kernels run, by Kineto's estimate. Kineto counts blocks with over 48 KiB of shared memory as 0.",
    "occupancy": "The same by cuda_occupancy.h for all kernels.",
    "tensor cores": "Part of the time of kernels that operators launched in the whole recording: kernels "
    "whose names show that they use tensor cores (Volta to Blackwell) or matrix cores (AMD GPUs). Kernels of "
    "Triton do not count, because their names do not show it.",
    "plugin's list": "The same by the plugin's list of names, which is of 2020.",
    "GPUs": "What the GPUs did. Each moment counts once: *computing* means that a kernel other than NCCL's "
    "ran, whatever else ran; *idle* means that nothing ran on any GPU.",
    "time of a step": "Mean over the steps.",
    "of step": "Part of the mean step.",
}

KERNELS: dict[str, str] = {
    "share": "Part of the time of all kernels.",
    "total": "Sum of the kernels' times. + if some have no time.",
    "kernels": "Number of kernels.",
    "mean": _MEAN,
    "least": "Shortest duration.",
    "most": _LONGEST,
    "blocks x threads": "Launch of the longest one: number of blocks, and threads of a block.",
    "registers": "Registers of a thread of the longest one.",
    "shared": "Shared memory of a block of the longest one.",
    "blocks/SM": "Blocks of the longest one's grid for each multiprocessor. Below 1, some have none.",
    "theoretical": "Theoretical occupancy: how full of the longest one's threads a multiprocessor can be, "
    "given registers, shared memory and size of a block.",
    "occupancy": "The occupancy that the longest one can reach: theoretical, or less if blocks are too few.",
    "family": "What made it: NCCL (of DDP, of FSDP, or the program's own), inductor, Triton, cuBLAS, cuDNN, "
    "CUTLASS, FlashAttention, torch and others; empty if the name does not show it.",
    "TC": "yes: its name shows that it uses tensor cores.",
    "kernel": "Name without namespaces, parameters and plain template arguments. `(graph)` marks kernels "
    "that a CUDA graph launched.",
    "operator": _OPERATOR,
    "signature": "What that operator was called with.",
    "line": _LINE,
    "phase": "Phase of that operator.",
}

COPIES: dict[str, str] = {
    "total": "Sum of the copies' times on the GPU. + if some have no time.",
    "copies": "Number of copies.",
    "mean": _MEAN,
    "bytes": "Bytes that were copied.",
    "GB/s": "bytes divided by total, in 10^9 bytes a second.",
    "direction": "Source and destination; fill is a memset.",
    "how": "Memory of the host (pageable or pinned), and whether the call returned before the copy ended.",
    "operator": _OPERATOR,
    "line": _LINE,
    "phase": "Phase of that operator.",
}

WAITS: dict[str, str] = {
    "of wall": "Part of the wall time.",
    "total": "Time in which the program waited for a GPU.",
    "waits": "Number of waits.",
    "mean": _MEAN,
    "longest": _LONGEST,
    "waited for": "A stream, an event, the whole GPU, or a copy from or to pageable memory.",
    "call": "Function of CUDA's API.",
    "operator": "Operator that waited.",
    "line": _LINE,
    "phase": "Phase of that operator.",
}

CUDA_CALLS: dict[str, str] = {
    "total": "Time in the function.",
    "calls": "Number of calls.",
    "mean": _MEAN,
    "longest": _LONGEST,
    "failed": "Calls that returned an error.",
    "call": "Function of CUDA's API.",
}

SOURCES: dict[str, str] = {
    "calls": "Number of calls that differ.",
    "difference": "How the two sources differ.",
    "operator": "Name of the operator.",
    "observer | autograd profiler": "What each of the two recorded.",
}

LOSSES: dict[str, str] = {
    "source": "Part of perfprobe that has the loss: operators, samples, cprofile, gpu, ranges, memory, "
    "processes.",
    "count": "How many; - if not known.",
    "what": "What is missing, and why.",
    "remedy": "What avoids it in the next run; - if nothing does.",
}

SLOW_STEPS: dict[str, str] = {
    "step": "Its number, from 0.",
    "at": "When it began, by the clock.",
    "took": "Its duration.",
    "more": "How much longer than the median of all steps.",
    "line with most of it": "The line whose time exceeds that in an ordinary step the most, and by how much: "
    "by samples of the loop's thread, in short steps by operators. Then the operator with most of that time.",
    "more of": "What took longer than in an ordinary step: waiting for data, waiting for a processor, "
    "garbage collection, running, or blocked (none of the others: a sleep, a lock, a disk).",
    "in phase": "The phases in which it took longer.",
    "from": "When this stretch of time began.",
    "steps": "Number of steps.",
    "median": "Median of their durations.",
    "p95": "95th percentile of their durations.",
    "max": "The longest.",
    "slow": "Number of slow steps.",
}
