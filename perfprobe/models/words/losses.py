"""What losses mean for the figures: by source, and the most frequent ones separately."""

from __future__ import annotations

SOURCES: dict[str, str] = {
    "recording": "The recording is incomplete: all its figures may be too small. The first screen says CUT.",
    "operators": "Operators were not recorded, or only some: tables of operators and lines are too small.",
    "autograd": "The autograd profiler missed something: windows that closed early, or calls that it "
    "does not report.",
    "samples": "The sampler missed something: times of Python functions are a little less certain.",
    "cprofile": "Calls of Python functions were not counted, or only for a part of the run. Times by "
    "samples are not affected.",
    "gpu": "Work of a GPU was not recorded, or only some of it. Sums that are too small have a +.",
    "ranges": "Named ranges are missing.",
    "memory": "Memory that was not recorded: figures of `--memory` do not include it.",
    "emit": "Ranges for another tool (`--emit`) were not set.",
    "steps": "Steps were not found while the program ran, or only some of them.",
    "processes": "Child processes are not in the report. Their CPU time may be most of the work.",
    "processors": "It is not known how long threads waited for a processor, or what other processes used.",
    "native": "Native code was not sampled, or only a part of it. Other figures are not affected.",
    "counters": "Events were not counted. The reason follows, and what would allow it.",
    "garbage collections": "Python's garbage collections were not recorded: their time counts elsewhere.",
    "bench": "Measurements beside the recording cannot be used.",
}

# The beginning of a loss, and what it means.
REASONS: dict[str, str] = {
    "operators, ranges and work of GPUs in steps outside of the windows": "`--steps` or `--duration` asked "
    "for it: figures are of the recorded steps alone, wall and CPU time are of the whole program.",
    "operators of ordinary steps": "`--keep slow` asked for it: tables of operators and lines cover slow "
    "steps only. *Slow steps* compares these with all others.",
    "slow steps of which only sums are kept": "`--keep slow` writes at most 32 MB of slow steps at once, and "
    "400 bytes more each second. The durations of these steps are known, their lines are not.",
    "slow steps larger than the buffer": "Operators stay in the buffer until their step ends. If the step "
    "does not fit, its first operators are only in the sums.",
    "counting took more than 5 % of the time": "cProfile slows programs with many small calls, so it was "
    "switched off: **ncalls** covers the first part of the run (`1,234+`), times by samples cover all of "
    "it. `--python cprofile` counts to the end.",
    "samples truncated: stack too deep": "Of very deep recursion only the innermost frames are shown. "
    "Times of functions far outside are too small.",
    "events beyond": "There were more different stacks, signatures or names than are kept (65,536). The "
    "rest is one row, *(other)*.",
    "operators that could not be written": "The disk was full: operators are missing.",
    "DataLoader workers were not recorded": "With `--children off` or a block of `perfprobe.profile`, the "
    "time of workers is not in the report.",
    "operators of this worker were recorded for": "A DataLoader's worker that runs many small operators "
    "records them in windows of time, so that recording costs little. Shares are right; counts and sums "
    "cover these windows only.",
    "child processes were not recorded": "Programs started with `subprocess` or a launcher are not "
    "followed. The remedy names the command that records them.",
    "graphs compiled with cpp_wrapper": "C++ code calls these kernels without torch's dispatcher, so no "
    "observer sees them.",
    "ranges that were still open at the end": "They count up to the end of the recording, or are missing.",
    "the program never imported torch": "There are no operators to record.",
    "torch was imported in a way that the import hook did not see": "The observer never started.",
    "no GPU was recorded": "The reason follows it: no driver, a driver older than CUPTI, another tool that "
    "holds CUPTI exclusively.",
    "kernels, copies and calls without a time": "They are counted, but are missing in sums of times: "
    "these have a +.",
    "inside an operator or range that was not recorded: counted as outermost": "Total times of their "
    "callers are too small, sums over outermost operators too large.",
    "the recording was not closed": "The program was killed, or still runs. The last second may be missing.",
    "reading stopped": "The file is damaged: what lies after that place is missing.",
    "operators dropped": "Memory for records was used up: operators are missing.",
    "ends of operators that had started on another thread": "They have no row: their start was not recorded.",
    "allocations and frees that could not be written": "The disk was full: figures of `--memory` are "
    "too small.",
    "switched off with": "An option switched this source off. Without the option it is recorded.",
    "not recorded": "This source could not be used here. The reason follows.",
    "the last window was not read": "Another thread ended the recording: the autograd profiler's last "
    "operators are missing.",
    "the children of the fork server were not recorded": "Processes of the start method *forkserver* have no "
    "recording of their own.",
    "child processes are not recorded": "Nothing can be written beside the recording, where children would "
    "put theirs.",
    "child processes and calls of Python functions": "The option records steps only: child processes and "
    "calls are left out.",
    "recordings of child processes are missing": "The recording was moved without its folder of children, or "
    "they were killed.",
    "not counted": "The kernel, the processor or the virtual machine does not give this event. The remedy "
    "names what would allow it.",
    "threads without counters": "Events of these threads are not in the counts.",
    "functions and calls beyond": "There were more different functions and calls than cProfile's table "
    "keeps.",
    "Python calls were not counted": "**ncalls** is missing; times by samples are not affected.",
    "threads were not counted from when": "The program set a profile function of its own for "
    "threads: later calls on other threads are not counted.",
    "calls are not counted": "The autograd profiler takes the place that cProfile needs. Times by samples "
    "are not affected.",
    "calls on": "Before Python 3.12, threads that `threading` did not start are not counted. Samples have "
    "them.",
    "no ranges were emitted": "Another tool sees no ranges of operators. The recording is not affected.",
    "messages of emitted ranges beyond": "Another tool sees these operators by name, without signature and "
    "line.",
    "TEARDOWN_CUPTI=1 lets torch.profiler end CUPTI": "After the program's own profiler ended, kernels and "
    "copies may be missing.",
    "exact links": "`--gpu-links exact` needs the observer: kernels are linked to operators by time instead.",
    "incomplete: another client of CUPTI took over": "Kernels and copies after that moment are missing.",
    "this torch is a build for AMD's GPUs": "CUPTI is NVIDIA's: operators are recorded, work on the GPU is "
    "not.",
    "the recording of the GPU ended early": "Kernels and copies after that moment are missing.",
    "kernels and copies of CUDA graphs without operator and line": "They are counted and "
    "timed, but it is not known what launched them.",
    "the program's own torch.profiler gets no GPU records": "Two tools cannot use CUPTI at once; this "
    "recording has the GPU's work.",
    "native samples": "Some native code was not sampled, so sums of *native* may be too small.",
    "native functions beyond": "There were more different functions than are kept; the rest is one row.",
    "loaders, optimizers and marks of steps in other threads": "Steps are those of one loop on one thread.",
    "untraced steps of --baseline: missing": "The program had too few steps for the comparison.",
    "steps beyond 100,000": "Sums include them; they have no row of their own.",
    "only perfprobe.step() marks steps": "Steps cannot be found by themselves here; the reason follows.",
    "CPU time: the autograd profiler does not read it": "The column **cpu** is empty.",
    "memory: the program's allocator": "The program set an allocator of its own: memory was not recorded.",
    "ITT ranges of torch and oneDNN": "They were imported before recording began, and look for a listener "
    "only once.",
    "NVTX ranges of the package nvtx": "It was used before recording began, and looks for a listener only "
    "once.",
    "samples that failed": "The thread's frames changed while they were read. A few are normal.",
    "samples beyond": "There were more different stacks than are kept; the rest is one stack.",
    "threads beyond 128": "What they did between samples is not known; their CPU time is.",
    "the sampler ended early": "Memory was used up: Python functions after that moment have no time.",
    "counts of calls, values and reuse of operands": "The trace was exported from a recording, and the "
    "format has no place for these.",
    "what lies outside of the steps that were exported": "`perfprobe export --steps` left it out.",
    "bytes of copies and sizes of launches": "The version of Kineto that wrote the trace leaves them out.",
    "forward lines of backward": "Operators in backward have no line of their forward call.",
    "launches: the trace has no calls of CUDA": "Kernels have times, but no operators and lines.",
    "lines of Triton's kernels": "Only their file is right; the line is always shown as 1.",
    "lines within functions": "A trace names a function by its first line: every line of it is shown as "
    "that.",
    "GPU memory": "The memory of GPUs is not in the report. The reason follows.",
    "memory of the CPU and of other GPUs": "The trace has it; reports show the GPU with most memory.",
    "threads beyond the first": "The trace has more threads than are read: their operators are missing.",
    "damaged events were left out": "The trace is damaged: these events are in no figure.",
    "events without usable times were not exported": "These events are in no figure.",
}
