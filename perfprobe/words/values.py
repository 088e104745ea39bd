"""The meaning of cells in reports and of values in JSON, by column. `a | b` are two texts for one value."""

from __future__ import annotations

from perfprobe.collect.tries.declared import TRIES, usages

VALUES: dict[str, dict[str, str]] = {
    "gain (advise)": {
        "1.42x (1.36 to 1.48)": "How many times as fast a step is with the change, what lies between steps "
        "(evaluations, starts of workers) included, and the 95 % interval over pairs of runs.",
        "refused": "The change makes the program slower, or lets it compute something else.",
        "not tried": "The program has nothing that the change could be put on, in the steps that ran.",
        "no gain": "A gain of more than 3 % is ruled out.",
        "cannot tell": "The pairs neither show a gain nor rule one out.",
        "failed": "The program failed with the change, and what it said.",
        "same bits": "All values that were compared are the same: what backward() starts from in each step, "
        "what models in eval() return, numbers that are printed, files that are written.",
        "within 1e-5": "Values of steps differ by this at most, relative to them. *At first*: in the first "
        "ten steps; rounding grows from step to step, and is at most 0.1 % later.",
        "within bf16's budget": "Values of steps differ by at most 2 %, as rounding to bfloat16 lets them "
        "(float32 in place of float64: 0.1 %).",
        "differs": "Where it computes something else first.",
        "cannot be checked": "The unchanged program does not repeat itself, or computes nothing that can be "
        "compared.",
    },
    "word (tries)": {
        " | ".join(usages(name)): f"{one.means} In the source: `{one.code_with(''.join(one.values[:1]))}`."
        for name, one in TRIES.items()
    },
    "what (compare)": {
        "start-up": "From the program's start to its first step.",
        "peak memory": "The most memory: of tensors on GPUs or the CPU if that was recorded, else of the "
        "process.",
        "an evaluation": "The mean time of an evaluation.",
        "torch.compile": "The time of all compilations.",
        "kernels of a step": "The time of the kernels that a step launched.",
        "copies of a step": "The time of the copies that it started.",
        "a copy to the GPU": "The mean time of a copy from host to device.",
        "GPU idle": "The part of the GPU's time in which nothing ran.",
    },
    "phase (operators)": {
        "forward | fwd": "Inside a module's call, or an operator that makes a backward node.",
        "backward | bwd": "Operators of backward nodes, at the line of the forward call.",
        "recompute | rec": "Forward code that backward runs again (`torch.utils.checkpoint`).",
        "compile | comp": "Operators that torch.compile traces, on tensors without data.",
        "data": "Everything that a DataLoader calls to make a batch: dataset, transforms, collation.",
        "optimizer | opt": "The optimizer's step, gradient clipping and scaling.",
        "other | oth": "The rest: metrics, losses that are functions, inference without modules.",
    },
    "phase (phases)": {
        "data | input | data loading": "Waiting for data: the loader's `next`, or other code that makes the "
        "loop's next item.",
        "copy | copies to the device": "Copies from host to device: `to` and `copy_` outside of modules.",
        "forward | model": "Modules, and operators that backward refers to. In inference: the model.",
        "backward": "Calls of backward.",
        "recompute | recomputation in backward": "Forward code that backward runs again.",
        "optimizer": "The optimizer's step, scaling of gradients, learning rates.",
        "clipping | gradient clipping": "Clipping of gradients (`torch.nn.utils.clip_grad_norm_`).",
        "zero_grad": "`optimizer.zero_grad()`.",
        "compile | torch.compile's own work": "torch.compile traces or compiles.",
        "saving": "Writing checkpoints and other files.",
        "logging": "Writers of logs, progress bars. A `print` is *other*.",
        "garbage collection | collection | Python's garbage collection": "Python's garbage collector ran.",
        "reads | results | reading values": "Reading tensors: losses by `item`, a model's output.",
        "import | imports of libraries": "The import of a library in a step. Imports before are start-up.",
        "other | Python outside of model and loader": "Python of the program, and unknown time.",
    },
    "box (graph)": {
        "work of no line": "Work in the steps for which no line of the program is known.",
        "not explained": "Time in the steps between operators, where no sample shows what the thread did.",
        "waiting for other ranks": "The thread called a collective, or stood still while one ran.",
        "waiting for Python's lock": "Samples found the thread in the wait for Python's global lock.",
        "waiting for the GPU": "In calls that synchronise, such as `.item()` makes, and in copies "
        "that block.",
        "operators of other threads, at the same time": "Operators that other threads ran during the steps. "
        "They come on top of the loop's time.",
        "step left out": "Warm-up and other steps that do not count.",
        "step of another loop": "Steps of loops that are shorter than the leading one.",
    },
    "line (operators)": {
        "no Python on this thread": "No Python function ran on the thread, and no forward call is known: "
        "threads of C++, TorchScript.",
        "beyond the limit of stacks kept": "The program has more different stacks than the 65,536 that are "
        "kept.",
        "in backward, before its node was known": "The operator ran in backward before its node began.",
        "AccumulateGrad: no forward line": "torch adds the gradient to a parameter; no forward call made "
        "that node.",
        "its forward call was not recorded": "The forward call happened before recording began, or in steps "
        "that were not recorded.",
        "its forward call has no Python line": "The forward call was made by C++ code.",
        "TorchScript: a node for several operators": "One backward node stands for several operators, so "
        "it has no single line.",
        "called outside of operators, where no Python was seen": "Work on a GPU: no operator or sample shows "
        "who launched it.",
        "the call that started it was not recorded": "Work on a GPU: its launch was not recorded.",
        "of a CUDA graph whose launch is not known": "Work on a GPU: the launch of its graph was not "
        "recorded.",
        "DDP gradient reduction": "Adding up gradients in `DistributedDataParallel`.",
        "RPC: gradients of another process": "`torch.distributed.autograd` runs backward for another "
        "process.",
    },
    "kind (threads)": {
        "main": "The thread that runs the script.",
        "Python": "Another thread that runs Python code.",
        "autograd": "A thread of torch's autograd engine; there is one for each device.",
        "team | openmp": "A thread without a name of its own that works for OpenMP or another library.",
        "inter-op | interop": "A thread of torch's pool that runs independent operators.",
        "pin memory": "The DataLoader's thread that copies batches to pinned memory.",
        "CUDA": "A thread of CUDA's libraries.",
        "perfprobe": "One of perfprobe's own threads.",
        "other": "None of these.",
    },
    "threads that ran (threads)": {
        "idle": "VTune's class: less than half a processor was used.",
        "poor": "VTune's class: up to half of the processors that the program may use.",
        "ok": "VTune's class: up to 85 % of the processors that the program may use.",
        "ideal": "VTune's class: more than 85 % of the processors that the program may use.",
        "over": "All processors were used, and more threads of the program were ready to run.",
    },
    "problem (threads)": {
        "oversubscription": "torch has more threads than the process has cores, and they waited for each "
        "other. Usual remedy: `OMP_NUM_THREADS`.",
        "affinity": "torch has more threads than cores in the affinity mask.",
        "quota": "torch has more threads than the cgroup's quota allows cores.",
        "nested": "Several Python threads call operators, and each of them has its own team.",
        "workers": "Each DataLoader worker has its own team, and they waited for processors.",
        "spinning": "Members of a team spin while no operator runs and their caller waits.",
        "lock": "Python threads wait for Python's global lock, so that only one of them runs at a time.",
        "serial": "An operator with much of the time runs on only one thread of its team.",
        "other processes": "Other processes used the processors. This is not a fault of the program.",
    },
    "while the host (idle)": {
        "data loading | data | the GPU waits for data loading": "The host waited for data, or made a batch.",
        "compile | the GPU waits for torch.compile": "torch.compile was active.",
        "garbage collection | collection | the GPU waits for Python's garbage collection": "Python's "
        "garbage collector ran.",
        "the GPU waits for the CPU": "Operators on the host, Python between launches, calls of CUDA.",
        "allocator": "`cudaMalloc`, `cudaFree`, `cudaHostAlloc` and the like.",
        "synchronising call | sync | synchronising | the GPU is idle after waits for it": "The host "
        "waited for the GPU, so nothing was queued when the GPU finished.",
        "pageable copy": "The same, in a copy from or to pageable memory.",
        "operators on the host | operators": "The host's part of operators.",
        "Python between launches | python": "Python code between operators.",
        "launch": "From the call until the kernel began, and other calls of CUDA.",
        "between kernels | gaps between short kernels": "A short gap before work that was queued.",
        "not known | unknown | the GPU is idle, not known why": "The recording does not show what the host "
        "did.",
    },
    "bound by (critical-path)": {
        "operators on the host | cpu": "Operators, and calls of CUDA's API.",
        "computing kernels | compute": "Kernels that do not communicate.",
        "communication | communication between GPUs": "Kernels that communicate with other GPUs: of NCCL, "
        "RCCL, NVSHMEM, DeepEP, FlashInfer, torch's symmetric memory, and those of vLLM and SGLang.",
        "copies | copy": "Copies and fills on a GPU.",
        "between kernels | kernel_gap": "The time between two kernels of one stream.",
        "launches | launch": "From the start of the call to the start of its kernel.",
        "Python": "Python code between operators.",
        "data loading | data": "The program waited for data or made a batch.",
    },
    "what (native)": {
        "math libraries | math": "Kernels of MKL, oneDNN, FBGEMM and other math libraries.",
        "torch's loops | loops": "torch's own vectorised loops, or those of torch.compile.",
        "waiting in OpenMP | wait": "Spinning, sleeping and waking up in OpenMP's library.",
        "copying | copy": "memcpy, memset and torch's copy loops.",
        "allocation and page faults | memory": "malloc and free, mapping memory, page faults.",
        "dispatch": "torch's other code: dispatcher, autograd, checks, the binding to Python.",
        "Python": "The interpreter.",
        "system calls | system": "System calls, except those that map memory.",
        "perfprobe": "The cost of recording.",
        "other code | other": "Other libraries.",
    },
    "operator (native)": {
        "(no operator) | outside": "No operator ran.",
        "(of several operators) | several": "Time of team members while several threads ran operators: it "
        "may belong to any of them.",
    },
    "what (start-up)": {
        "import": "An import, including everything that it imports.",
        "building models | model | building the model": "Creating modules and optimizers.",
        "compiling | compile | torch.compile": "torch.compile was active.",
        "first steps, beyond the median | warm-up | warm_up": "The extra time of steps marked as warm-up.",
        "waiting | waiting before the first step | waiting outside of the steps": "The thread did not run: a "
        "file, a lock, a sleep.",
        "waiting for the first request | idle": "A server's thread waited for clients, or for a queue.",
        "waiting for child processes | children": "The thread waited for processes that it had started.",
        "other | Python before the first step | outside of the steps": "Everything else there.",
    },
    "kind (steps)": {
        "training | training step": "From one optimizer step to the next.",
        "inference | call": "A call of a model in a program that does not train.",
        "evaluation": "Calls of a model between training steps.",
    },
    "left out (steps)": {
        "steady": "The step counts in averages.",
        "warm-up | warm_up": "One of the first steps, if they take longer.",
        "with compiling | compiling | compile": "torch.compile was active in it.",
        "outlier": "Far longer than the median.",
        "cut off | cut short | cut": "The last step, which had not ended when the recording ended.",
        "untraced | baseline": "No operators were recorded in it, to measure what recording adds or to bound "
        "it.",
        "with cProfile | counted": "cProfile slowed it, until it was switched off because of its cost.",
    },
    "found by (steps)": {
        "perfprobe.step() | program": "The program calls `perfprobe.step()`.",
        "torch.profiler | profiler | the profiler's steps": "The steps of `torch.profiler`.",
        "optimizer steps | optimizer | the optimizer": "The end of an optimizer's step.",
        "batches | loader | the loader": "The loader's `next`.",
        "calls of the model | module": "The outermost call of a module.",
        "backward": "The end of backward, if there is no optimizer.",
    },
    "direction (copies)": {
        "to GPU | host to device | host to array": "From the host's memory to a GPU's.",
        "from GPU | device to host | array to host": "From a GPU's memory to the host's.",
        "on GPU | device to device | array to array | array to device | device to array": "Within a GPU's "
        "memory.",
        "GPU to GPU | peer to peer": "From one GPU's memory to that of another.",
        "on host | host to host": "Within the host's memory.",
        "fill": "A memset: no bytes are read.",
    },
    "how (copies)": {
        "pageable": "Ordinary memory of the host: the driver copies it through pinned memory of its own, and "
        "the calling thread waits.",
        "pinned": "Memory of the host that cannot be moved, which a GPU reads directly.",
        "managed | managed static": "Memory that CUDA moves between host and GPU on demand.",
        "device | device static": "Memory of a GPU.",
        "array": "CUDA's memory for textures.",
        "async": "The call returned before the copy was done.",
        "sync": "The call waited for the copy.",
    },
    "waited for (waits)": {
        "an event | event": "`torch.cuda.Event.synchronize`, or a library's own.",
        "stream for an event | stream_wait_event": "A stream waits for an event of another stream; the host "
        "does not wait.",
        "a stream | stream": "All work of one stream: `.item()`, `.cpu()`.",
        "the whole GPU | context": "All work of the GPU: `torch.cuda.synchronize`.",
        "a pageable copy | pageable_copy": "A copy from or to pageable memory blocks its caller.",
    },
    "set by (ranges)": {
        "NVTX": "NVIDIA's interface for ranges, used by `torch.cuda.nvtx`.",
        "ITT": "Intel's interface for ranges, used by `torch.profiler.itt`.",
        "perfprobe.range | perfprobe": "`perfprobe.range`.",
        "python": "The interpreter: garbage collections.",
        "nested": "A range within the ranges that its thread opened before.",
        "start/end | free": "A range that may begin and end on different threads.",
        "mark": "A moment with a name, without a duration.",
    },
    "family (kernels)": {
        "DDP": "`NCCL of DDP`: communication of `DistributedDataParallel`.",
        "FSDP": "`NCCL of FSDP`: communication of fully sharded data parallel.",
    },
    "child processes (workers)": {
        "process | of Process": "Started as `multiprocessing.Process`.",
        "loader": "A worker of torch's DataLoader.",
        "pool | of Pool": "A process of `multiprocessing.Pool`.",
        "executor | of ProcessPoolExecutor": "A process of `concurrent.futures.ProcessPoolExecutor`.",
        "fork": "Start method: the child begins as a copy of the program.",
        "spawn": "Start method: the child begins as a new interpreter.",
    },
    "code (functions)": {
        "user": "The program's own code. The report leaves the cell empty.",
        "library": "An installed package.",
        "standard library | stdlib": "Python's standard library.",
        "torch": "torch's own code.",
        "perfprobe": "perfprobe's own code.",
    },
    "verdict (efficiency)": {
        "near a limit of this machine": "compute-bound, memory-bound or element-rate-bound.",
        "below its limit": "The verdict *below ceiling*.",
        "far below it": "The verdict *inefficient*.",
        "mostly the cost of a call": "The verdict *overhead-bound*.",
        "mostly page faults": "The verdict *allocation-bound*.",
        "without an answer": "Other verdicts, such as *ambiguous* and *unjudged*.",
        "not measured": "Calls that `perfprobe bench` did not measure.",
    },
}
