"""What losses mean for the figures: by source, and one by one for the most frequent ones."""

from __future__ import annotations

SOURCES: dict[str, str] = {
    "recording": "The recording is incomplete, so all figures may be too small. The first screen says CUT.",
    "operators": "Some or all operators were not recorded: times of operators and lines are too small.",
    "autograd": "The autograd profiler missed operators: a window closed early, or it does not report them.",
    "samples": "The sampler missed something: times of Python functions are a little less certain.",
    "cprofile": "Calls of Python functions were not counted, or only for a part of the run. Sampled times "
    "are not affected.",
    "gpu": "Some or all work of a GPU was not recorded. Sums that are too small have a +.",
    "ranges": "Named ranges are missing.",
    "memory": "Some memory was not recorded: figures of `--memory` do not include it.",
    "emit": "Ranges for another tool (`--emit`) were not set.",
    "steps": "Some or all steps were not found while the program ran.",
    "processes": "Child processes are missing from the report. Most of the work may be in them.",
    "processors": "It is not known how long threads waited for a processor, or what other processes used.",
    "native": "Some or all native code was not sampled. Other figures are not affected.",
    "counters": "Events were not counted. The loss says why, and what would allow it.",
    "garbage collections": "Python's garbage collections were not recorded: their time counts elsewhere.",
    "compilations": "What torch.compile compiled was not listed: the first screen does not say what was "
    "compiled again and again.",
    "cells": "The numbers of a notebook's cells were not noted: lines have the names of their files.",
    "rank": "The process's rank was not noted: reports on several ranks need it.",
    "modes": "Modes and the number of threads that the program set in torch were not noted: the first screen "
    "has no MODE, and cannot name the line that sets the number.",
    "tries": "A change of `--try` was not put on the program, so this run does not say what it gains.",
    "results": "What the program computes was not recorded, so it cannot be compared.",
    "bench": "The stored measurements of `perfprobe bench` cannot be used.",
}

# The beginning of a loss, and what it means.
REASONS: dict[str, str] = {
    "never applied": "The program has nothing that this change of `--try` could be put on: no such loader, "
    "optimizer or module, or not in the steps that ran, or it is so already.",
    "operators, ranges and work of GPUs in steps outside of the windows": "An effect of `--steps` or "
    "`--duration`: figures cover the recorded steps only; wall and CPU time cover the whole program.",
    "operators of ordinary steps": "An effect of `--keep slow`: tables of operators and lines cover slow "
    "steps only. *Slow steps* compares them with the other steps.",
    "slow steps kept only as sums": "`--keep slow` keeps at most 32 MB of slow steps, plus 400 "
    "bytes per second. The durations of these steps are known, but not their lines.",
    "slow steps larger than the buffer": "Operators stay in the buffer until their step ends. If a step "
    "does not fit, its first operators are only in the sums.",
    "counting took more than 5 % of the time": "cProfile slows programs with many small calls, so it was "
    "switched off: **ncalls** covers the first part of the run (`1,234+`), sampled times cover all of it. "
    "`--python cprofile` counts to the end.",
    "samples truncated: stack too deep": "In very deep recursion only the innermost frames are kept. Times "
    "of the outermost functions are too small.",
    "stacks truncated: too deep": "In very deep recursion only the innermost 256 frames are recorded: beyond "
    "16,384 frames, or beyond 256 if `perfprobe doctor` says that frames are read through Python's public "
    "functions. An operator's line is missing if it is further out.",
    "events beyond": "There were more different stacks, signatures or names than the 65,536 that are kept. "
    "The rest is one row, *(other)*.",
    "operators that could not be written": "The disk was full: operators are missing.",
    "DataLoader workers were not recorded": "Workers are not recorded with `--children off`, "
    "with options that record only some steps, or in a block of `perfprobe.profile`. The report does not "
    "include their time.",
    "operators of this worker were recorded for": "A DataLoader worker with many small operators records "
    "them only part of the time, to keep the cost low. Shares are right; counts and sums cover only the "
    "recorded time.",
    "child processes were not recorded": "Programs started with `subprocess` or a launcher are not "
    "followed. The remedy names the command that records them.",
    "graphs compiled with cpp_wrapper": "C++ code calls these kernels without torch's dispatcher, so they "
    "cannot be observed.",
    "ranges that were still open at the end": "They count up to the end of the recording, or are missing.",
    "the program never imported torch": "There are no operators to record.",
    "torch was imported in a way that the import hook did not see": "The observer never started.",
    "no GPU was recorded": "The loss says why: no driver, a driver older than CUPTI, or another tool that "
    "holds CUPTI exclusively.",
    "kernels, copies and calls without a time": "They are counted, but sums of times do not include them: "
    "such sums have a +.",
    "inside an operator or range that was not recorded: counted as outermost": "Total times of their "
    "callers are too small, and sums over outermost operators are too large.",
    "the recording was not closed": "The program was killed, or still runs. The last second may be missing.",
    "reading stopped": "The file is damaged: everything after that place is missing.",
    "operators dropped": "The memory for records was full: operators are missing.",
    "ends of operators that had started on another thread": "These operators have no row, because their "
    "start was not recorded.",
    "allocations and frees that could not be written": "The disk was full: figures of `--memory` are "
    "too small.",
    "switched off with": "An option switched this source off. Without the option it is recorded.",
    "not recorded": "This source could not be used here. The loss says why.",
    "the last window was not read": "Another thread ended the recording: the autograd profiler's last "
    "operators are missing.",
    "the children of the fork server were not recorded": "Processes with the start method *forkserver* are "
    "not recorded.",
    "child processes are not recorded": "The folder of the recording is not writable, so recordings of "
    "children cannot be put there.",
    "child processes and calls of Python functions": "The option records only some steps, and these cannot "
    "be switched on and off with the steps.",
    "recordings of child processes are missing": "The recording was moved without its folder of children, or "
    "the children were killed.",
    "not counted": "The kernel, the processor or the virtual machine does not provide this event. The remedy "
    "says what would allow it.",
    "threads without counters": "Events of these threads are not in the counts.",
    "counts between two readings": "The program closed descriptors that it had not opened. Events of some "
    "milliseconds are not in the counts.",
    "requests of `perfprobe trigger`": "The program closed descriptors that it had not opened. Such "
    "a request was refused; later ones were answered if the socket could be opened again.",
    "functions and calls beyond": "There were more different functions and calls than cProfile's table "
    "keeps.",
    "Python calls were not counted": "**ncalls** is missing. Sampled times are not affected.",
    "threads were not counted from when": "The program set its own profile function for threads: later "
    "calls on other threads are not counted.",
    "calls are not counted": "The autograd profiler uses the interpreter hook that cProfile needs. Sampled "
    "times are not affected.",
    "calls on": "Before Python 3.12, calls on threads that `threading` did not start are not counted. "
    "Samples include these threads.",
    "no ranges were emitted": "Other tools see no ranges of operators. The recording is not affected.",
    "messages of emitted ranges beyond": "Other tools see these operators by name, without signature and "
    "line.",
    "TEARDOWN_CUPTI=1 lets torch.profiler end CUPTI": "After the program's own profiler ended, kernels and "
    "copies may be missing.",
    "exact links": "`--gpu-links exact` needs the observer: kernels are linked to operators by time instead.",
    "incomplete: another client of CUPTI took over": "Kernels and copies after that moment are missing.",
    "this torch is a build for AMD's GPUs": "CUPTI works only for NVIDIA GPUs: operators are recorded, work "
    "on the GPU is not.",
    "the recording of the GPU ended early": "Kernels and copies after that moment are missing.",
    "kernels and copies of CUDA graphs without operator and line": "They are counted and "
    "timed, but it is not known what launched them.",
    "all GPU times are converted": "Times are accurate to a few microseconds.",
    "work that still ran on the GPU 2 s after": "A kernel may never end, for example if another rank has "
    "died. perfprobe does not wait for it, as plain Python does not.",
    "the program's own torch.profiler gets no GPU records": "Only one tool at a time can use CUPTI. This "
    "recording includes the GPU.",
    "native samples": "Some native code was not sampled, so sums of *native* may be too small.",
    "native functions beyond": "There were more different functions than are kept. The rest is one row.",
    "loaders, optimizers and marks of steps in other threads": "Only the steps of one loop, on one thread, "
    "are found.",
    "operators in steps that were only timed": "The budget of recording was reached, so operators were "
    "recorded in steps chosen at random. Shares and times a step are those of these steps, sums and counts "
    "are of them alone.",
    "untraced steps of --baseline: missing": "The program had too few steps for the comparison.",
    "steps beyond 100,000": "Sums include these steps, but they have no row of their own.",
    "only perfprobe.step() marks steps": "Steps cannot be found automatically here. The loss says why.",
    "CPU time: the autograd profiler does not read it": "The column **cpu** is empty.",
    "memory: the program's allocator": "The program set its own allocator: memory was not recorded.",
    "ITT ranges of torch and oneDNN": "These libraries were imported before recording began, and look for a "
    "listener only once.",
    "NVTX ranges of the package nvtx": "The package was used before recording began, and looks for a "
    "listener only once.",
    "samples that failed": "The thread's frames changed while they were read. A few failures are normal.",
    "samples beyond": "There were more different stacks than are kept. The rest is one stack.",
    "waits for Python's global lock": "Threads that wait for each other seem to wait for something else.",
    "threads beyond 128": "Their CPU time is known, but not what they did between samples.",
    "the sampler ended early": "Memory was used up: Python functions after that moment have no time.",
    "counts of calls, values and reuse of operands": "The trace was exported from a recording, and the "
    "format cannot hold them.",
    "what lies outside of the steps that were exported": "`perfprobe export --steps` left it out.",
    "bytes of copies and sizes of launches": "The version of Kineto that wrote the trace leaves them out.",
    "forward lines of backward": "Operators in backward do not have the line of their forward call.",
    "launches: the trace has no calls of CUDA": "Kernels have times, but no operators and lines.",
    "lines of Triton's kernels": "Only the file is right; the line is always 1.",
    "lines within functions": "A trace has only the first line of each function, or the line at which "
    "recording began, which is shown for all its lines.",
    "clocks, power and temperature of GPUs": "It is not known, or not for all of the time, whether a GPU was "
    "throttled. Its work is recorded.",
    "GPU memory": "The memory of GPUs is missing from the report. The loss says why.",
    "memory of the CPU and of other GPUs": "The trace has it, but reports show the GPU with most memory.",
    "threads beyond the first": "The trace has more threads than are read: their operators are missing.",
    "the device of kernels and copies": "Devices with larger numbers are shown as one unknown device.",
    "facts behind the list of events": "The trace has more of them than are read, so facts may be missing.",
    "damaged events were left out": "The trace is damaged: these events are in no figure.",
    "events without usable times were not exported": "These events are in no figure.",
}
