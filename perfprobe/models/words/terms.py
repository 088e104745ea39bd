"""The glossary: words that reports, guides and messages use in one meaning. Also marks beside figures."""

from __future__ import annotations

MARKS: dict[str, str] = {
    "~": "The row's sum misleads, because calls over three times as long as usual make over a quarter of it, "
    "or because calls waited for a processor. The row is ranked by its typical time.",
    "<": "`<25 ns` is below the measurement floor: the recorded time of an empty operator. `<5.00 ms` for "
    "a function is less than one sample.",
    "+": "Beside a sum on GPUs: some kernels or copies without a time are missing in it. Beside ncalls: "
    "counted for a part of the run.",
    "-": "Not measured, not counted or not known. It never stands for 0.",
    "⋮": "Lines that are left out.",
    "(12.3 ms)": "In brackets: a C function that only cProfile sees; its time is in its callers' tottime "
    "too.",
}

TERMS: dict[str, str] = {
    "recording": "What was recorded of one run of a program, in a file `NAME.perfprobe`.",
    "report": "What perfprobe shows of a recording: first screen, sections, JSON.",
    "operator": "A function of torch that its dispatcher calls, such as `aten::mm`. A kernel that "
    "torch.compile generated is a row too.",
    "operator syntax": "`a / b` or `x[1]` in place of a call: the interpreter sees no call there.",
    "overload": "The variant of an operator by its argument types: `Tensor` in `aten::div.Tensor`.",
    "signature": "What an operator was called with: `f32[64,128]` is a float32 tensor of that shape, "
    "`{1,64}` after it are strides that are not contiguous, `.T` marks a transposed matrix, `@cuda:0` a "
    "device other than the CPU, `dim=1` a plain value, `(...)` a list, `-` an undefined tensor. Floats "
    "appear as `float`, so that a changing step size does not split a row.",
    "observer": "perfprobe's own recorder of operators: C++ code that torch calls at the start and end of "
    "each.",
    "autograd profiler": "The profiler beneath `torch.profiler`: the second source of operators.",
    "user line": "The innermost line of the program outside of torch, installed packages, the standard "
    "library and perfprobe. In backward: of the forward call.",
    "forward call": "The call in forward that made a backward node.",
    "AccumulateGrad": "torch's backward node that adds a gradient to a parameter. No forward call made it, "
    "so it has no line.",
    "DDP gradient reduction": "What `DistributedDataParallel` does to add up gradients, at the line that "
    "made it.",
    "phase": "What the program was doing: *forward* (inside a module's call, or an operator that makes a "
    "backward node), *backward*, *recompute* (forward code that backward runs again), *compile* "
    "(torch.compile's tracing), *data* (making a batch), *optimizer* (its step, clipping and scaling), or "
    "*other* (metrics, inference without modules).",
    "step": "One pass of the program's loop: of training from one optimizer step to the next, of inference "
    "one call of the model.",
    "slow step": "With `--keep slow`: a step longer than the 95th percentile of the last 200 steps and "
    "than 1.2 times their median.",
    "ordinary step": "With `--keep slow`: a step that is not slow. Only its sums are kept.",
    "untraced step": "A step in which no operators are recorded.",
    "baseline": "Untraced steps among traced ones (`--baseline`). They show what recording adds to a step.",
    "drift": "Steps in the last fifth of a run take longer, or shorter, than in the first, by more than "
    "they differ anyway. What counts is their mean time without waiting for a processor, which other "
    "processes cause; where the kernel does not tell that, their median.",
    "storage": "The memory of one or more tensors, from its allocation until it is freed.",
    "leak": "Memory of a line that grows with every step.",
    "evaluation": "Calls of modules in a training program that no optimizer step follows: validation, or "
    "rollouts of reinforcement learning. They are no part of a step.",
    "leading loop": "The loop whose steps take most time in total. The first screen and shares of the step "
    "are about its steady steps.",
    "undisturbed": "How long a step would be if its operators took their typical time, and its thread did "
    "not wait for a processor between them. Used on a machine where threads waited long for processors: "
    "shares of operators and modules are then of this time.",
    "steady": "A step that counts in averages: no warm-up, no compiling, no outlier, not cut off.",
    "warm-up": "The first steps, if they take longer than the others.",
    "outlier": "A step far longer than the median.",
    "start-up": "All that happens before the first step: imports, building the model, loading.",
    "dominated by outliers": "A sum of which a few long calls make most; marked ~.",
    "typical time": "Self time in which calls that were far longer count with the usual duration.",
    "usual": "The duration that most calls of a row have.",
    "measurement floor": "The recorded time of an empty operator. Shorter times cannot be distinguished.",
    "outermost operator": "An operator that no other operator called.",
    "busiest thread": "The thread with most time in operators.",
    "neighbours": "Other processes on the machine.",
    "waiting for a processor": "A thread is ready to run, but others have the cores it may use.",
    "team": "The threads that work together on one parallel part of an operator, such as those of OpenMP.",
    "critical path": "The longest chain of work in which each part had to wait for the one before.",
    "straggler": "The rank for which the other ranks wait in collectives.",
    "tick": "A moment at which the sampler reads where threads are and how much CPU time they used.",
    "sample": "A look at where a thread is, every few milliseconds, without stopping it.",
    "range": "A named part of the program: `record_function`, NVTX, ITT or `perfprobe.range`.",
    "window": "Steps in which operators are recorded (`--steps`). Of the autograd profiler: the operators "
    "that it records before its events are read.",
    "busy": "Of a GPU: at least one kernel, copy or fill ran.",
    "CUPTI": "NVIDIA's library that reports what GPUs did. One tool at a time holds CUPTI exclusively.",
    "ceiling": "The most that this machine reaches, measured by `perfprobe machine`.",
    "limit": "What bounds one call: a matrix product, memory bandwidth, a rate of elements. Measured "
    "beside the call.",
    "work model": "How many bytes and floating-point operations an operator needs at least, from its "
    "signature.",
    "verdict": "One word that says how near a call is to its limit.",
    "counterfactual": "The same call with one thing changed, measured: contiguous operands, another dtype, "
    "one thread.",
    "modifier": "What a verdict adds: a change that a measurement showed to matter.",
    "replay": "The call repeated by itself, with operands last touched as long ago as in the program.",
    "loss": "Something that was not recorded or not permitted, with reason and remedy.",
    "unjudged": "There is no work model or no limit to compare with, so no verdict is given.",
    "estimate": "Not measured in this run: computed from costs that were measured on this machine.",
    "bounded": "A gain that cannot be more than the time that would be removed. Not measured.",
}
