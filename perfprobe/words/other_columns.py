"""What the columns about Python, steps, processes, GPUs and losses mean, by section and by title."""

from __future__ import annotations

_LINE = "Line of the program."
_OPERATOR = "Operator that launched it."
_OPERATOR_ALONE = "Operator whose calls are long enough to fill the time between two samples."
_MEAN = "Mean duration."
_LONGEST = "Longest duration."

FUNCTIONS: dict[str, str] = {
    "of wall": "tottime divided by the wall time.",
    "of all": "tottime divided by the time of all threads' functions, if that is more than the wall time.",
    "tottime": "Time in the function itself; the name is that of `pstats`. Imports of libraries are one "
    "separate row. Waiting of threads other than the main one is left out.",
    "cpu": "The part of tottime during which the thread ran on a processor. If it is near 0, the function "
    "waited.",
    "cumtime": "Time in the function including the functions that it called.",
    "ncalls": "Number of calls. `12/3`: 12 calls, 3 of them not recursive. `1,234+`: counted for a part of "
    "the run. `-`: not counted.",
    "non-ops": "The part of tottime during which no operator ran: Python itself, numpy and other C code, "
    "waiting.",
    "own ops": "Time of the operators that the function called itself. Backward counts at the forward call.",
    "all ops": "Time of the operators called by it and by the functions below it. May be more than cumtime, "
    "because backward counts at the forward call.",
    "code": "Origin of the function, if it is not yours: library, torch, standard library.",
    "function": "File and line of its `def`, and its name.",
}

THREADS: dict[str, str] = {
    "CPU": "CPU time of the thread.",
    "waited": "Time in which the thread was ready to run but had no processor, from the kernel's "
    "scheduler (`/proc/self/task/*/schedstat`).",
    "of wall": "waited divided by the wall time.",
    "lock": "Time in which the thread waited for Python's global lock, by the share of samples that found it "
    "waiting.",
    "voluntary": "How often the thread gave up its processor to wait for data, a lock or other threads.",
    "involuntary": "How often the kernel took the processor away from the thread.",
    "cores": "Number of processors on which the thread was seen, checked once a second.",
    "kind": "main, Python, autograd, team (a thread without a name that works for OpenMP or another "
    "library), inter-op, pin memory, CUDA, perfprobe or other.",
    "thread": "Name of the thread.",
    "active": "Mean number of threads that ran while only this operator ran, with two standard errors. "
    "Members of a team that spin count too.",
    "of team": "active divided by torch's threads: an upper bound of the operator's parallel efficiency.",
    "idle": "CPU time that the other members of the team did not use while the caller of the operator ran, "
    "because of imbalance or serial parts.",
    "spinning": "CPU time that threads spent at OpenMP's barriers and waiting for work (`--native`).",
    "scheduling": "CPU time spent starting teams and dividing work, by samples (`--native`).",
    "locks": "CPU time that threads spent waiting for OpenMP's locks and critical sections (`--native`).",
    "not running": "CPU time that the team did not use while its caller had no processor.",
    "setting": "The setting that `perfprobe threads --sweep` measured. `as it is`: no setting was changed.",
    "gain": "In the sweep: speed-up over the unchanged program, median over all pairs of runs. In Teams: "
    "VTune's potential gain, which is idle, spinning, scheduling and locks divided by the threads.",
    "interval": "Confidence interval of that median, by order statistics.",
    "torch threads": "The value of torch.get_num_threads() at the end of the last run.",
    "best": "The best number of threads: the smallest one that no other measured number beats by 5 % or "
    "more with certainty.",
    "speed-up": "Speed-up of the best number of threads over the smallest one.",
    "inputs": "Inputs of the operator.",
    "looks": "How often this operator filled the time between two samples.",
    "operator": _OPERATOR_ALONE,
    "line": _LINE,
}

STEPS: dict[str, str] = {
    "kind": "training, inference or evaluation.",
    "steps": "Number of steps.",
    "left out": "Steps that averages leave out: warm-up, compiling, outliers, a last step that was cut off.",
    "median": "Median duration of a steady step.",
    "p95": "95th percentile of the durations of steady steps.",
    "p99": "99th percentile of the durations of steady steps.",
    "together": "Sum of the times of all steady steps.",
    "samples/s": "Batch size divided by the median, if a batch size is known.",
    "micro-batches": "Forward and backward passes for each optimizer step (gradient accumulation).",
    "found by": "How the steps were found: by `perfprobe.step()`, torch.profiler's steps, the optimizer, the "
    "loader or the model.",
    "loop": "Line of the program with the loop.",
    "within": "Library function that contains the loop, such as a Trainer.",
}

PHASES: dict[str, str] = {
    "of steps": "Share of the time of steady steps.",
    "phase": "Activity of the step's own thread.",
    "median": "Median time of the phase in a step.",
    "together": "Time of the phase in all steady steps.",
    "others busy": "Time of the phase during which other threads ran operators.",
    "GPU busy": "Time of the phase during which a GPU was busy.",
    "children busy": "Time of the phase during which recorded child processes ran, by their samples.",
    "most of it": "Line with the largest share of the phase.",
}

START_UP: dict[str, str] = {
    "took": "Time it took before the first step.",
    "what": "The activity: an import, building models, compiling, the extra time of the first steps.",
    "line": _LINE,
}

SOURCES: dict[str, str] = {
    "calls": "Number of calls that differ.",
    "difference": "How the two sources differ.",
    "operator": "Name of the operator.",
    "observer | autograd profiler": "What each of the two recorded.",
}

LOSSES: dict[str, str] = {
    "source": "Part of perfprobe that reports the loss: operators, samples, cprofile, gpu, ranges, memory, "
    "processes.",
    "count": "How many; - if not known.",
    "what": "What is missing, and why.",
    "remedy": "How to avoid it in the next run; - if it cannot be avoided.",
}
