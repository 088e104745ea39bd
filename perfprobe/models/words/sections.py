"""The sections of a report, by the names that `--view` takes: their titles and what they show."""

from __future__ import annotations

# Name: titles in the report, guide, meaning.
SECTIONS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "summary": (
        ("Hottest", "Busy machine"),
        "report",
        "The program, its wall and CPU time, the part of it in operators, what recording cost, and the "
        "hottest operator.",
    ),
    "benchmark": (
        ("Benchmark",),
        "benchmark",
        "How long steps took while nothing was recorded except their times (`--benchmark`).",
    ),
    "slow-steps": (
        ("Slow steps", "Course"),
        "windows",
        "The slow steps of a long run, what took longer in each than in an ordinary one, and how step times "
        "changed (`--keep slow`).",
    ),
    "operators": (
        ("Hot operators", "Operators by line", "Operators by module"),
        "report",
        "The operators with most time, each with signature, line, module and phase. `--group` says what a "
        "row is.",
    ),
    "efficiency": (
        ("Efficiency",),
        "bench",
        "How near the measured operators come to a limit of this machine, after `perfprobe bench`.",
    ),
    "lines": (
        ("Hot lines",),
        "report",
        "The lines of your files with most operator time, in file order, with their text. `⋮` stands for "
        "lines that are left out.",
    ),
    "modules": (
        ("Hot modules",),
        "report",
        "The model's modules with most time, in the order of the model, and the hot lines of the packages "
        "that define them. Shown if one line calls most of the time, or with `--package`.",
    ),
    "steps": (
        ("Steps",),
        "steps",
        "The loops that train, evaluate or infer, with the duration of their steady steps.",
    ),
    "phases": (
        ("Phases",),
        "steps",
        "What steady steps consist of: data, forward, backward, optimizer and others.",
    ),
    "start-up": (("Start-up",), "steps", "What took long before the first step."),
    "memory": (
        ("Memory", "Memory by line", "Memory by module", "Memory by phase", "Memory by operator"),
        "memory",
        "Memory of tensors on the CPU (`--memory`): the peak, what was alive at it, what forward leaves "
        "alive for backward, and what grows from step to step, by line, module, phase and operator.",
    ),
    "gpu-memory": (
        ("GPU memory",),
        "memory",
        "Memory of each GPU (`--memory`), as torch's allocator counts it: the peak and its part of the "
        "device's capacity, and what grows from step to step.",
    ),
    "gpus": (("GPUs",), "gpu", "What ran on each GPU, and how much of the time it was busy."),
    "gpu-use": (
        ("GPU use",),
        "gpu",
        "How well each GPU was used in the steps, by the TensorBoard plugin's definitions, and idle time.",
    ),
    "idle": (
        ("GPU idle",),
        "gpu",
        "Time between the first and the last work of each GPU in which nothing ran on it, by what the host "
        "did meanwhile and its line; and the gaps of each stream, by kind.",
    ),
    "overlap": (
        ("GPU overlap",),
        "gpu",
        "How long computing, communication (NCCL's kernels) and copies ran at the same time on each GPU.",
    ),
    "kernels": (("GPU kernels",), "gpu", "The kernels with most time, with their operator and line."),
    "copies": (
        ("GPU copies",),
        "gpu",
        "Copies to, from and on GPUs, and fills, with direction, bytes and rate.",
    ),
    "waits": (("GPU waits",), "gpu", "Calls in which the program waited for a GPU."),
    "cuda-calls": (("CUDA calls",), "gpu", "Functions of CUDA's API: what launching costs the program."),
    "launches": (
        ("Launches",),
        "gpu",
        "Calls that launch kernels, copies and fills: how long they take, how long after them the work "
        "begins, and how much was queued.",
    ),
    "sequences": (
        ("Kernel sequences",),
        "gpu",
        "Short kernels that one line or module launches one after the other, again and again: candidates for "
        "fusion.",
    ),
    "critical-path": (
        ("Critical path",),
        "critical-path",
        "The longest chain of work that had to wait for one another, over threads and GPUs, in steady steps: "
        "what bounds it, by line, and what removing it could save at most.",
    ),
    "functions": (
        ("Python functions",),
        "functions",
        "The program's Python functions as `pstats` shows them, with the operators that each one called.",
    ),
    "between": (
        ("Between operators",),
        "report",
        "Time on the busiest thread in which no operator ran, by the lines around it: Python, numpy, reading "
        "files, waiting. With the outermost operators it is the whole wall time.",
    ),
    "ranges": (
        ("Ranges", "Ranges of libraries"),
        "ranges",
        "Parts of the program that it, torch or a library named.",
    ),
    "ranks": (
        ("Ranks", "Collectives"),
        "gpu",
        "The ranks of one run beside each other: computing and communication, which rank made the others "
        "wait, in which phase and line, and the collectives. Only `--view ranks` with the recordings of all "
        "ranks, or their folder, has it.",
    ),
    "workers": (
        ("Child processes",),
        "report",
        "Processes that `multiprocessing` started, and what each worker of a DataLoader did with its time.",
    ),
    "threads": (
        ("Threads", "Teams", "Settings of threads", "Threads of operators"),
        "threads",
        "Whether the number of threads is a problem, and why. CPU time of each thread, how long it waited "
        "for a processor, what other processes used. Operators that leave their team idle.",
    ),
    "native": (
        ("Native code",),
        "native",
        "What operators spend CPU time on, by the functions in which threads were sampled (`--native`).",
    ),
    "counters": (
        ("Counters",),
        "native",
        "Events that the processor and the kernel counted, by thread and operator (`--counters`), and why "
        "events are not counted.",
    ),
    "sources": (
        ("Sources",),
        "sources",
        "How the observer and the autograd profiler agree, with `--operators both`.",
    ),
    "environment": (
        ("Environment",),
        "report",
        "Versions, machine, settings of threads, commit: what to include with a question.",
    ),
    "losses": (
        ("Losses",),
        "limits",
        "All that is missing in these figures, with reason and remedy.",
    ),
    "children": (
        ("Child recordings",),
        "report",
        "Recordings that child processes made of themselves.",
    ),
}

# The labels of the first screen in order, and what each line says.
FIRST_SCREEN: dict[str, str] = {
    "STEP": "Median and 95th percentile of a steady training step; samples/s if a batch size is known.",
    "CALL": "The same for a model that is only called, from 100 calls on with the 99th percentile.",
    "STEPS": "No steps were found: the program has no optimizer step and no repeated call of a module.",
    "PARTS": "What a step consists of, in whole percentages that sum to 100. Without steps: how much of the "
    "wall time was in operators.",
    "IMPORTS": "Part of the wall time that imports took, and who imported.",
    "SLOW": "What takes most of a step, how long and where. Below it: what that consists of.",
    "LIMIT": "How near the hottest operator is to its limit, or how to find out.",
    "GAIN": "The most that removing it could gain. Bounded by its time, not measured.",
    "THEN": "What takes most of a step after SLOW.",
    "TAIL": "How many steps were far longer than the median, and in which phase.",
    "ALSO": "A second kind of finding: a slow import, or a missing `no_grad`.",
    "CHECKED": "If nothing stands out: what was checked.",
    "UNKNOWN": "If nothing stands out: what was not recorded or measured, and the option for it.",
    "BLIND": "The smallest gain that could have been seen in these steps, given how much they vary.",
    "RANKS": "In reports of several ranks: the straggler, with the line and phase that made it late.",
    "CPU": "Cores used of cores allowed, what other processes used (neighbours), and waiting for a "
    "processor.",
    "MEMORY": "The most memory that tensors held at once, by category (`--memory`); of a GPU its part of the "
    "capacity. If memory grows: by how much in a step, and at which line.",
    "GPU": "How much of the time between its first and last work the busiest GPU was busy, what follows, and "
    "the line with most of its idle time.",
    "CUT": "The recording is incomplete, and why.",
    "TRUST": "What recording added to the program's CPU time, measured or estimated, and how many losses.",
    "NEXT": "The command to run next.",
}
