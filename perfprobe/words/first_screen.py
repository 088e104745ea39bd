"""The lines of the first screen."""

from __future__ import annotations

# The labels of the first screen in order, and what each line says.
FIRST_SCREEN: dict[str, str] = {
    "MACHINE": "If the loop's thread waited much for a processor: the part of a core that it got, and who "
    "had the rest. PARTS and SLOW leave that waiting out. Without steps: the main thread's part in the whole "
    "run; shares of wall time contain that waiting. Threads that share the work of an operator also wait for "
    "each other while other processes have their processors. That is in all times, as a thread of OpenMP "
    "runs while it waits: with as many threads as processors are free there is none.",
    "STEP": "Median of a steady training step; `+-` is the larger side of its 95 % interval, from six steps "
    "on; a wide interval is in brackets. The mean if it is far larger, the 95th percentile, and samples/s if "
    "a batch size is known. If steps differ much, bars show their course: each is the median of as many "
    "steps, its height goes from 0 to the time behind the bars.",
    "CALL": "The same for a model that is only called; from 100 calls on also the 99th percentile.",
    "TREND": "If steps get slower, from 50 steps on: the median of the first and of the last fifth of them, "
    "without waiting for a processor, and the line with most of the difference.",
    "STEPS": "No steps were found: the program has no optimizer step and no repeated call of a module.",
    "IDLE": "How long a server's thread waited for requests between two calls of the model, in a function of "
    "the standard library or in C (`select`, `recv`, `get` of a queue), while nothing else of the program "
    "worked. "
    "It is in no call, so figures and shares are those of the work.",
    "WAITED": "With `--wait`: `perfprobe trigger` never came, so there is nothing to judge.",
    "PARTS": "The phases of all steps together, without waiting for a processor, in whole percentages that "
    "sum to 100. Without steps: the share of the wall time in operators.",
    "IMPORTS": "Share of the wall time in imports, and the code that imported.",
    "TESTS": "How many tests of pytest or unittest were seen, their time together, and the longest; short "
    "ones may be missing. `--view tests` has all, and fixtures.",
    "MODE": "The program switched on something that makes torch slower, for 20 % of the steps or more: its "
    "own torch.profiler, anomaly mode, or deterministic algorithms; since which line, and how much longer "
    "steps take with it, where there are others to compare with.",
    "SLOW": "From 20 % of the steps on: the largest wait (for data, garbage collection, compiling), or else "
    "the line with most time, its forward, backward and Python together; how long in a step on average. "
    "`+-` is the error by sampling: two standard deviations. Where no line has as much, a function of the "
    "program may, with all its lines, of which the first and the last are named. Below it, the text of the "
    "line, if its file is below the current folder and was not changed since the recording began; and its "
    "parts: times of operators there, each added up over the shapes of its inputs. If evaluations, "
    "start-up or what came after the steps took longer than all of them, these. Many short operators: the "
    "step consists of their fixed costs (dispatch, autograd, Python), because a slow core would need at most "
    "the share shown for their work. A line below says if many of them read single values (`.item()`), or if "
    "a quarter of the step or more is the optimizer's, parameter by parameter.",
    "OPS": "Operators with 5 % of the steps' own time or more, with all inputs, lines and phases. Where a "
    "GPU judges: of its time kinds of work by the library that the kernels are of, whoever launched them; "
    "other kernels by their names, variants together.",
    "LIMIT": "How close the hottest operator is to its limit, or how to find out.",
    "GAIN": "Upper bound of the speed-up if SLOW took no time. Computed from its time, not measured.",
    "THEN": "The next largest share of a step after SLOW.",
    "TRY": "The change that saves most of a step, at which line, and how much faster steps are at most with "
    "it; and the command that tries it on the program, or where it cannot be tried from outside the changed "
    "code. `--view advice` has all changes; none is named if the largest saves less than 5 % of a step. "
    "Lines that say what is slow leave out what TRY says.",
    "TAIL": "How many steps were far longer than the median, and the phase that made them long.",
    "ALSO": "Another kind of finding: a slow import, long evaluations, a missing `no_grad`, or from 20 % of "
    "the steps on work on a CPU in float64 or float16, with the line that converts most to it, or on `cat` "
    "onto a growing result; from 10 % on forward that no backward uses (a teacher without `no_grad`, a "
    "result that is thrown away), with the line that has most of it, or on forward that backward computes "
    "again; from 20 % of the run on what the program itself does before its first step; a function that "
    "torch.compile compiled at least four times, and the guard that failed last.",
    "CHECKED": "If nothing stands out: what was checked.",
    "MORE": "If nothing stands out: what was not recorded or measured, and the option for it.",
    "NOISE": "The smallest change of the median step that these steps would show, given how much they vary. "
    "It does not say that nothing larger can be gained.",
    "RANKS": "In reports of several ranks: the straggler, with the line and phase that made it late.",
    "CPU": "Cores used and allowed, what other processes used, and waiting for a processor.",
    "MEMORY": "The most memory that tensors held at once, by category (`--memory`); for a GPU as a share of "
    "its capacity. If memory grows: by how much in a step, and at which line. Without `--memory`: only if "
    "the process grows, in all parts of the last four fifths of at least 50 steps, by 2 % and 8 MiB or "
    "more: by how much in a step, with the 95 % interval (Sen 1968). Of DataLoader workers: how much each "
    "one's own memory grew since its first batch, from 128 MiB on. A worker copies a page of its parent "
    "when it counts a reference to an object there (copy-on-write).",
    "GPU": "How busy the busiest GPU was between its first and last work, what follows from that, and the "
    "line with most of its idle time. If a GPU was throttled: how often and why.",
    "CUT": "The recording is incomplete, and why.",
    "TRUST": "What recording added to the program's CPU time, measured or estimated, and whether anything is "
    "missing.",
    "NEXT": "The command to run next, unless TRY has one.",
}
