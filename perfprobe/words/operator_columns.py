"""What the columns about operators, lines, modules and ranges mean, by section and by title."""

from __future__ import annotations

_SHARE = "The row's share of all operators' self time."
_SELF = "CPU-side time in the operator itself, on its own thread, without the operators that it called."
_MODULE = (
    "Path of the `nn.Module` that called the operator, as in the model's own `named_modules()`. Wrappers "
    "(`torch.compile`, DataParallel, sharding, checkpoints) are left out. A row for several layers says how "
    "many: `layers.*.attention (4)`. If there are two models of one class, the second is `Net#2`."
)
_PHASES = {
    "forward": "Share of the self time that passed in forward.",
    "backward": "Share of the self time that passed in backward, at the line of the forward call.",
    "recompute": "Share of the self time in which backward ran forward code again (checkpoint).",
    "other": "Share of the self time in all other phases: optimizer, data, inference without modules.",
}

OPERATORS: dict[str, str] = {
    "share": _SHARE,
    "of step": "The row's share of the time of a steady step (first screen).",
    "of GPU": "The row's share of GPU time: that of steps, or from first to last work (first screen).",
    "of call": "The row's share of the time of a steady call of the model (first screen).",
    "of gpu": "The row's share of all operators' time on GPUs. It replaces *share* with `--sort gpu`.",
    "self": _SELF,
    "autograd self": "Self time as the autograd profiler measured it.",
    "autograd total": "Total time as the autograd profiler measured it.",
    "gpu self": "Time on GPUs of the kernels, copies and fills that the operator launched itself.",
    "gpu total": "Time on GPUs of everything launched by the operator and the operators that it called.",
    "total": "Time in the operator including the operators that it called. A call inside another call of "
    "the same row is not counted twice.",
    "calls": "Number of calls.",
    "mean": "Mean duration of a call: total divided by calls.",
    "median": "Median duration of a call (nearest rank: the 20th shortest of 40 calls). It comes from a "
    "histogram and is within 1.6 % of the exact value.",
    "p95": "95th percentile of the durations of calls (nearest rank: the 38th shortest of 40 calls).",
    "cpu": "CPU time of the operator's own thread, without other threads of torch's pool. `--cpu-time` "
    "alone means outermost operators only.",
    "FLOPs": "Floating-point operations of the row's calls, if there is a work model. A multiply-add is two.",
    "GFLOP/s": "FLOPs divided by total time, in 10^9 a second.",
    "allocated": "Memory that the calls allocated, with `--memory`.",
    "freed": "Memory that the calls freed, with `--memory`.",
    "operator": "Torch's name for the operator, with its overload: `aten::div.Tensor` is `/` on two tensors.",
    "signature": "The operator's inputs: dtypes, shapes, strides that are not contiguous, and plain values. "
    "See the term *signature*.",
    "line": "The user line: the innermost line of the program outside of torch, installed packages and the "
    "standard library. In backward it is the line of the forward call.",
    "module": _MODULE,
    "phase": "The phase in which it ran: forward, backward, recompute, optimizer, compile, data or other.",
    "fwd": "Share of the row's self time that passed in forward.",
    "bwd": "Share of the row's self time that passed in backward.",
    "recompute": "Share of the row's self time in which backward ran forward code again (checkpoint).",
    "operators": "Number of different operators in the row.",
    "signatures": "Number of different signatures in the row.",
    "lines": "Number of different lines in the row.",
    "of limit": "The call's speed as a share of the fastest that a limit of this machine allows. From "
    "`perfprobe bench`.",
    "verdict": "How close the call comes to a limit of this machine. From `perfprobe bench`.",
}

AUTOGRAD: dict[str, str] = {
    "Name": "Name of the operator.",
    "Self CPU %": "Share of all self time on the CPU.",
    "Self CPU": "Time in the operator without the operators that it called.",
    "CPU total %": "CPU total divided by all self time.",
    "CPU total": "Time in the operator including the operators that it called.",
    "CPU time avg": "CPU total divided by the number of calls.",
    "Self CUDA": "Time on GPUs of what the operator launched itself.",
    "Self CUDA %": "Share of all operators' time on GPUs.",
    "CUDA total": "Time on GPUs of everything launched by the operator and the operators that it called.",
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
    "source": "Text of the line.",
    "hottest operator there": "The operator with the most self time at this line.",
}

MODULES: dict[str, str] = {
    "share": "Share of all operators' self time, including the module's submodules.",
    "total": "Time of operators in the module and its submodules.",
    "own": "Time of operators in the module without its submodules.",
    "gpu": "Time on GPUs of what these operators launched.",
    **_PHASES,
    "module": _MODULE,
    "class": "Class of the module.",
}

RANGES: dict[str, str] = {
    "total": "Time during which at least one range of this name was open. Nested ranges count once.",
    "calls": "Number of ranges.",
    "mean": "Mean duration.",
    "median": "Median duration.",
    "p95": "95th percentile of the durations.",
    "cpu": "CPU time of the range's own thread, with `--cpu-time`.",
    "gpu": "Time on GPUs of what was launched inside the range.",
    "name": "Name of the range.",
    "set by": "Interface that set the range, and its domain: record_function, NVTX, ITT, perfprobe.range.",
    "line": "Line of the program that set the range, or the thread if the line is not known.",
}

BETWEEN: dict[str, str] = {
    "of wall": "Share of the wall time.",
    "total": "Time on the busiest thread between these two lines, without operators.",
    "times": "How often this happened.",
    "mean": "Mean duration.",
    "longest": "Longest duration.",
    "from line to line": "Line of the last operator before, and line of the first operator after. If the "
    "second line is not below the first, this is a loop or the next call of the function.",
    "mostly, by samples": "What most samples in that time show.",
}

EFFICIENCY: dict[str, str] = {
    "share": "The call's share of all operators' self time in the program.",
    "operator": "Torch's name for the operator.",
    "signature": "The operator's inputs.",
    "line": "The line with most of its time; + if there are other lines.",
    "program": "Time of a call in the recorded program. Wall time, unless recorded with `--detail bench`.",
    "isolated": "Time of the call by itself, on several copies of its operands in turn, so that these do not "
    "stay in the caches.",
    "low-high": "Lowest and highest time among the measuring processes.",
    "warm": "Time of the call by itself, on the same operands each time.",
    "of limit": "The call's speed as a share of the fastest that a limit of this machine allows. If there "
    "are several limits, the nearest counts. More than 100 % means an error in the model.",
    "threads": "Speed-up over one thread. If the program used one thread: the speed-up with all threads.",
    "faults": "Page faults of a call.",
    "busy": "Wall time divided by CPU time, if the machine was busy with other programs.",
    "verdict": "How close the call comes to a limit of this machine, and what would make it faster.",
}

MACHINE: dict[str, str] = {
    "threads": "Number of threads.",
    "dtype": "Type of the elements.",
    "product": "Rate of the best matrix product through torch.",
    "low-high": "Lowest and highest rate among the processes.",
    "of peak": "**product** divided by **peak**.",
    "peak": "Highest rate of the processor's arithmetic instructions, on registers.",
    "instruction": "Instruction set that reached the peak.",
    "product of": "Shape of the best matrix product.",
    "footprint": "Bytes that are touched repeatedly.",
    "time": "Time of one call, launch or page fault.",
    "by": "The operator or kernel that was timed.",
}
