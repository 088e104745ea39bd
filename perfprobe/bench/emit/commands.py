"""Command lines for a script with VTune, Nsight and perf, each with the question it answers.

The options follow the vendors' documentation. Tools differ by version, so each line has the command that
shows the options of the installed one.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command line.

    Attributes:
        line: the command, to be run in the scripts' folder.
        answers: the question it answers, as half a line.
        check: the command that shows the tool's options.
    """

    tool: str
    line: str
    answers: str
    check: str


_CPU = (
    (
        "vtune",
        "vtune -collect hotspots -knob sampling-mode=hw -knob enable-stack-collection=true -start-paused"
        " -r {number}_hotspots -- python {name}.py",
        "time by library and function (without hardware counters: sampling-mode=sw)",
        "vtune -help collect hotspots",
    ),
    (
        "vtune",
        "vtune -collect threading -start-paused -r {number}_threading -- python {name}.py",
        "how many threads work at once, and what the others wait for",
        "vtune -help collect threading",
    ),
    (
        "vtune",
        "vtune -collect uarch-exploration -knob collect-memory-bandwidth=true -start-paused"
        " -r {number}_uarch -- python {name}.py",
        "whether the cores wait for memory, for instructions or for ports; needs hardware counters",
        "vtune -help collect uarch-exploration",
    ),
    (
        "vtune",
        "vtune -collect performance-snapshot -start-paused -r {number}_snapshot -- python {name}.py",
        "the first look: threads, memory and vector use on one page",
        "vtune -help collect performance-snapshot",
    ),
    (
        "vtune",
        "vtune -report hotspots -r {number}_hotspots -group-by task,function -format csv",
        "what was found, as text: function by function inside the hot range",
        "vtune -help report hotspots",
    ),
    (
        "perf stat",
        "mkfifo -m 600 {number}.ctl {number}.ack; perf stat -D -1 --control fifo:{number}.ctl,{number}.ack"
        " -e task-clock,context-switches,page-faults,cycles,instructions,cache-misses"
        " python {name}.py --perf-control {number}.ctl,{number}.ack 2>&1 | grep -v '^Events ';"
        " rm {number}.ctl {number}.ack",
        "instructions a cycle, cache misses, page faults and context switches of the hot calls alone",
        "perf stat --help",
    ),
    (
        "perf record",
        "mkfifo -m 600 {number}.ctl {number}.ack; perf record -D -1 --control fifo:{number}.ctl,{number}.ack"
        " -o {number}.perf.data python {name}.py --perf-control {number}.ctl,{number}.ack"
        " 2>&1 | grep -v '^Events '; rm {number}.ctl {number}.ack; perf report -i {number}.perf.data",
        "which functions the hot calls alone spend their time in",
        "perf record --help",
    ),
)
_CUDA = (
    (
        "ncu",
        "ncu --profile-from-start off --set full --target-processes all -f -o {number}"
        " python {name}.py --once",
        "each kernel of one call against the GPU's limits, caches emptied before it and clocks at base",
        "ncu --help",
    ),
    (
        "ncu",
        "ncu --profile-from-start off --set full --cache-control none --clock-control none"
        " --target-processes all -f -o {number}_warm python {name}.py --once --warm",
        "the same with caches as they are and clocks free: nearer to the times printed here",
        "ncu --help",
    ),
    (
        "ncu",
        'ncu --nvtx --nvtx-include "{name}/" --metrics gpu__time_duration.sum,dram__bytes.sum'
        " --launch-count 20 python {name}.py --seconds 1",
        "time and memory traffic of the first kernels inside the NVTX range",
        "ncu --help",
    ),
    (
        "nsys",
        "nsys profile -t cuda,nvtx,osrt,cudnn,cublas -s none --cpuctxsw=none --capture-range=cudaProfilerApi"
        " --capture-range-end=stop -f true -o {number} python {name}.py --seconds 1",
        "launches, kernels and gaps between them on a time line",
        "nsys profile --help",
    ),
    (
        "nsys",
        "nsys stats -r nvtx_sum,nvtx_kern_sum,cuda_gpu_kern_sum {number}.nsys-rep",
        "what was found, as text: kernel times, and kernels by range",
        "nsys stats --help-reports",
    ),
    (
        "perf stat",
        "perf stat -e task-clock,context-switches python {name}.py",
        "what the CPU does meanwhile, with the start of Python and torch in it",
        "perf stat --help",
    ),
)
ABOUT_NCU = (
    "ncu runs a kernel several times, by default with caches emptied before each (--cache-control all) and"
    " clocks locked to base (--clock-control base). Its times are therefore neither of the two that perfprobe"
    " measures: not warm (same operands, free clocks), and not rotating (others each time, free clocks)."
)
ATTACH = (
    "To attach to a running script, start it with --wait, attach to the PID it prints (`vtune -collect"
    " hotspots -target-pid PID`, `perf record -g -p PID`), then press Enter or `kill -USR1 PID`."
)


def commands(stem: str, device: str) -> tuple[Command, ...]:
    """Returns the commands for a script.

    Args:
        stem: its file name without `.py`.
        device: where its call runs.
    """
    chosen = _CPU if device == "cpu" else _CUDA
    words = {"name": stem, "number": stem.partition("_")[0]}  # `number` begins the names of tools' outputs
    return tuple(Command(tool, line.format(**words), answers, check) for tool, line, answers, check in chosen)


_WHOLE = (
    (
        "vtune",
        "vtune -collect threading -r {stem}_threading -- python -m perfprobe -q --emit itt {words}",
        "how many threads work at once, what the others wait for, by step, phase and operator",
        "vtune -help collect threading",
    ),
    (
        "vtune",
        "vtune -collect hotspots -knob sampling-mode=sw -r {stem}_hotspots"
        " -- python -m perfprobe -q --emit itt {words}",
        "time by library and function, for each operator",
        "vtune -help collect hotspots",
    ),
    (
        "vtune",
        "vtune -collect hpc-performance -r {stem}_hpc -- python -m perfprobe -q --emit itt {words}",
        "OpenMP's serial time and potential gain (Intel's OpenMP), vector use, memory bandwidth",
        "vtune -help collect hpc-performance",
    ),
    (
        "nsys",
        "nsys profile -t nvtx,osrt,cuda -s cpu --cpuctxsw=process-tree -o {stem}"
        " python -m perfprobe -q --emit nvtx {words}",
        "when each thread runs and which call it waits in, with steps, phases and operators above",
        "nsys profile --help",
    ),
    (
        "perf stat",
        "perf stat -e task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions"
        " python {words}",
        "processors used, switches, migrations and instructions a cycle of the whole program",
        "perf stat --help",
    ),
    (
        "perf record",
        "perf record -F 999 -g -o {stem}.perf.data python {words};"
        " perf report -i {stem}.perf.data --sort dso,symbol",
        "which native functions threads run: kernels, or loops that spin (gomp_team_barrier_wait)",
        "perf record --help",
    ),
    (
        "perf sched",
        "perf sched record -o {stem}.sched.data python {words};"
        " perf sched timehist -i {stem}.sched.data --summary",
        "how long each thread waited for a processor, and which other thread had it",
        "perf sched --help",
    ),
)


def whole_program(words: str, stem: str) -> tuple[Command, ...]:
    """Returns commands that run a whole program in other tools, with perfprobe's ranges if they show ranges.

    Args:
        words: the program and its arguments, quoted for the shell.
        stem: the beginning of the names of the tools' outputs.
    """
    given = {"words": words, "stem": stem}
    return tuple(Command(tool, line.format(**given), answers, check) for tool, line, answers, check in _WHOLE)
