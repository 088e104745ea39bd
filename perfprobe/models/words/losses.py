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
}
