"""What the columns about operators, lines, modules and ranges mean, by section and by title."""

from __future__ import annotations

_SHARE = "The row's part of all operators' self time."
_SELF = "Time in the operator itself, without the operators that it called. On the CPU, on its own thread."
_MODULE = (
    "Path of the `nn.Module` whose call it was, as the model's own `named_modules()` names it. Wrappers "
    "(`torch.compile`, DataParallel, sharding, checkpoints) are left out. A row that stands for several "
    "layers says how many: `layers.*.attention (4)`. Of two models of one class the second is `Net#2`."
)
_PHASES = {
    "forward": "Part of the self time that passed in forward.",
    "backward": "Part of the self time that passed in backward, at the line of the forward call.",
    "recompute": "Part of the self time in which backward ran forward code again (checkpoint).",
    "other": "Part of the self time in all other phases: optimizer, data, inference without modules.",
}

OPERATORS: dict[str, str] = {
    "share": _SHARE,
    "of step": "The row's part of the time of a steady step (first screen).",
    "of call": "The row's part of the time of a steady call of the model (first screen).",
    "of gpu": "The row's part of all operators' time on GPUs; with `--sort gpu`, in place of share.",
    "self": _SELF,
    "autograd self": "Self time as the autograd profiler measured it.",
    "autograd total": "Total time as the autograd profiler measured it.",
    "gpu self": "Time on GPUs of the kernels, copies and fills that the operator launched itself.",
    "gpu total": "Time on GPUs of what the operator and the operators that it called launched.",
    "total": "Time in the operator with the operators that it called. A call inside another call of the "
    "same row counts once.",
    "calls": "Number of calls.",
    "mean": "Mean duration of a call: total divided by calls.",
    "median": "Median duration of a call, by nearest rank: of 40 calls the 20th shortest. From a "
    "histogram, within 1.6 % of the exact value.",
    "p95": "95th percentile of the durations of calls, by nearest rank: of 40 calls the 38th shortest.",
    "cpu": "CPU time of the operator's own thread, without other threads of torch's pool. `--cpu-time` "
    "alone means outermost operators only.",
    "FLOPs": "Floating-point operations of the row's calls, if there is a work model. A multiply-add is two.",
    "GFLOP/s": "FLOPs divided by total time, in 10^9 a second.",
    "allocated": "Memory that the calls allocated, with `--memory`.",
    "freed": "Memory that the calls freed, with `--memory`.",
    "operator": "Name that torch gives it, with its overload: `aten::div.Tensor` is `/` on two tensors.",
    "signature": "What the operator was called with: dtypes, shapes, strides that are not contiguous, "
    "plain values. See the term *signature*.",
    "line": "The user line: the innermost line of the program outside of torch, installed packages and the "
    "standard library. In backward it is the line of the forward call.",
    "module": _MODULE,
    "phase": "What the program was doing: forward, backward, recompute, optimizer, compile, data or other.",
    "fwd": "Share of the row's self time that passed in forward.",
    "bwd": "Share of the row's self time that passed in backward.",
    "recompute": "Share of the row's self time in which backward ran forward code again (checkpoint).",
    "operators": "Number of different operators in the row.",
    "signatures": "Number of different signatures in the row.",
    "lines": "Number of different lines in the row.",
    "of limit": "The time that the limit alone takes, as a part of the measured time of the call. From "
    "`perfprobe bench`.",
    "verdict": "How near the call is to a limit of this machine. From `perfprobe bench`.",
}

AUTOGRAD: dict[str, str] = {
    "Name": "As in torch's own table: the operator.",
    "Self CPU %": "Part of all self time on the CPU.",
    "Self CPU": "Time in the operator without the operators that it called.",
    "CPU total %": "Part of all self time that total is.",
    "CPU total": "Time in the operator with the operators that it called.",
    "CPU time avg": "CPU total divided by the number of calls.",
    "Self CUDA": "Time on GPUs of what the operator launched itself.",
    "Self CUDA %": "Part of all operators' time on GPUs.",
    "CUDA total": "Time on GPUs of what the operator and the operators that it called launched.",
    "CUDA time avg": "CUDA total divided by the number of calls.",
    "Self CPU Mem": "Memory allocated minus memory freed by the calls, with `--memory`.",
    "Self CUDA Mem": "The same on the GPU, in traces of GPUs.",
    "# of Calls": "Number of calls.",
    "Total FLOPs": "Floating-point operations of the calls, if there is a work model.",
    "Input Shapes": "The signature.",
    "Source Location": "The user line.",
    "Module": "Path of the `nn.Module`.",
}

LINES: dict[str, str] = {
    "share": _SHARE,
    "self": "Self time of all operators that were called from this line, forward and backward together.",
    "gpu": "Time on GPUs of what these operators launched.",
    **_PHASES,
    "line": "Number of the line in its file.",
    "source": "Text of the line. It is read when the report is made, from files that were last written "
    "before the recording began.",
    "hottest operator there": "The operator with most self time at this line.",
}

MODULES: dict[str, str] = {
    "share": "Part of all operators' self time in the module with its parts.",
    "total": "Time of operators in the module and in its parts.",
    "own": "Time of operators in the module without its parts.",
    "gpu": "Time on GPUs of what these operators launched.",
    **_PHASES,
    "module": _MODULE,
    "class": "Class of the module.",
}

RANGES: dict[str, str] = {
    "total": "Time in which at least one range of the name was open. Nested ranges of one name count once.",
    "calls": "Number of ranges.",
    "mean": "Mean duration.",
    "median": "Median duration, by nearest rank.",
    "p95": "95th percentile of the durations, by nearest rank.",
    "cpu": "CPU time of the range's own thread, with `--cpu-time`.",
    "gpu": "Time on GPUs of what was launched inside of it.",
    "name": "Name of the range.",
    "set by": "Interface through which it was set, and its domain: record_function, NVTX, ITT, "
    "perfprobe.range.",
    "line": "Line of the program that set it; the thread if there is none.",
}

BETWEEN: dict[str, str] = {
    "of wall": "Part of the wall time.",
    "total": "Time on the busiest thread in which no operator ran, between these two lines.",
    "times": "How often this happened.",
    "mean": "Mean duration.",
    "longest": "Longest duration.",
    "from line to line": "The line of the last operator before, and of the first operator after. If the "
    "second line is not after the first, this is a loop or the next call of the function.",
    "mostly, by samples": "What samples saw most often in that time.",
}

EFFICIENCY: dict[str, str] = {
    "share": "The call's part of all operators' self time in the program.",
    "operator": "Name that torch gives it.",
    "signature": "What it was called with.",
    "line": "The line with most of its time; + if there are others.",
    "program": "Time of a call in the recorded program. Wall time, unless recorded with `--detail bench`.",
    "isolated": "Time of the call by itself. It uses copies of its operands in turn, so that they do not "
    "stay in the caches.",
    "low-high": "Lowest and highest time of the measuring processes.",
    "warm": "Time of the call by itself, on the same operands each time.",
    "of limit": "The time that the limit alone takes, as a part of the isolated time. The nearest of "
    "several limits counts. More than 100 % is an error of the model.",
    "threads": "Speed-up over one thread. If the program used one thread: the speed-up that all threads "
    "would give.",
    "faults": "Page faults of a call.",
    "busy": "Wall time divided by CPU time, if the machine was busy with other programs.",
    "verdict": "How near the call is to a limit of this machine, and what would make it faster.",
}

MACHINE: dict[str, str] = {
    "threads": "Number of threads.",
    "dtype": "Type of the elements.",
    "product": "Rate of the best matrix product through torch.",
    "low-high": "Lowest and highest rate of the processes.",
    "of peak": "product as a part of peak.",
    "peak": "What the processor's own instructions reach from registers.",
    "instruction": "Instruction set that reached the peak.",
    "product of": "Shape of the best matrix product.",
    "footprint": "Bytes that are touched repeatedly.",
    "time": "Time of one call, launch or page fault.",
    "by": "The operator or kernel that was timed.",
}

MEMORY: dict[str, str] = {
    "category": "**parameters**: also buffers of modules. **gradients**: allocated in backward, alive at its "
    "end. **optimizer state**: allocated in an optimizer's step, alive at its end. **activations**: "
    "allocated in forward, alive when the step's backward begins. **inputs**: allocated outside of modules, "
    "backward and optimizers, as batches are. **kept from earlier steps**: activations and temporaries that "
    "outlive their step, inputs that also outlive the next one. **temporaries**: all else.",
    "of peak": "**at peak** divided by all memory alive then.",
    "storages": "Number of storages alive at the peak. Tensors may share one.",
    "at peak": "Bytes that it had allocated and that were alive when most memory was held.",
    "for backward": "Bytes that it allocated in a step's forward and that were alive when the step's "
    "backward began: mean of the steps that count.",
    "growth/step": "Growth of the memory it holds from one step's end to the next: median slope over all "
    "pairs of steps. Empty if it does not grow in every quarter of the run. Memory that grows without end is "
    "a leak.",
    "held": "Bytes that it allocated and that were still alive at the recording's end.",
    "allocated": "Sum of all its allocations.",
    "freed": "Bytes that were freed in it, whoever had allocated them. Memory that Python frees between "
    "operators has no line.",
    "allocations": "Number of storages that it allocated.",
    "line": "Line of the program that allocated it; in backward that of the forward call.",
    "module": "Innermost module that allocated it; in backward that of the forward call.",
    "phase": "Phase in which it was allocated.",
    "operator": "Operator that allocated it; for `aten::empty` the operator around it.",
}
