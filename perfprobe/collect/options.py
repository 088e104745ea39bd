"""The options of a recording."""

from __future__ import annotations

from perfprobe.support.errors import UsageError
from perfprobe.support.fraction import share
from perfprobe.support.option import CHILDREN, COMMAND_LINE, PYTHON, RECORDING, Chosen, option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

BUFFER_BYTES = 32 << 20
SMALLEST_BUFFER_BYTES = 4 << 20
SMALLEST_FILE_BYTES = 64 << 10
_OF_STEPS = (COMMAND_LINE, PYTHON, RECORDING)  # of this process alone
_OF_WINDOWS = (COMMAND_LINE, RECORDING)  # of a program as a whole
CHANGED = "what to change"  # headings of `--help`
_STEPS, _FILE = "which steps to record", "the recording"


class Options(Chosen):
    """What to record.

    A benchmark switches off all other sources; windows of steps those that cannot follow them.

    Raises:
        UsageError: a value that does not exist, or options that exclude each other: memory without operators,
            cProfile with the autograd profiler.
    """

    places = (COMMAND_LINE, PYTHON, CHILDREN, RECORDING)
    heading = "what to record"

    python: str = option(
        "both",
        "source of Python functions: a sampler (times) and cProfile (counts), one of them, or nothing "
        "(default: %(default)s)",
        values=("both", "cprofile", "sample", "off"),
        called="source of Python functions",
    )
    operators: str = option(
        "observer",
        "source of operators: perfprobe's observer (default), torch's autograd profiler, both, or nothing",
        values=("observer", "autograd", "both", "off"),
        called="operator source",
    )
    buffer_bytes: int = option(
        BUFFER_BYTES,
        f"size of the buffer for events, at least {SMALLEST_BUFFER_BYTES >> 20}M (default: %(default)s)",
        kind="size",
        flag="--buffer",
        heading=_FILE,
    )
    cpu_time: str = option(
        "off",
        "also record CPU time; --cpu-time alone means outermost operators",
        values=("off", "outermost"),
        called="choice of operators to read CPU time of",
        alone="outermost",
        gone={"all": 'give --detail bench (in Python detail="bench"): it reads that of all operators'},
    )
    detail: str | None = option(
        None,
        "bench: also record what `perfprobe bench` needs to repeat calls faithfully: CPU time and page "
        "faults of all operators, how long ago operands were touched, and values of later calls",
        values=("bench",),
        called="detail",
    )
    memory: bool = option(
        False,
        "also record memory of tensors: allocations, frees and what is held, by operator and line",
        brief="also memory of tensors: allocations, what is held",
    )
    native: bool = option(
        False,
        "also sample native code: the libraries and functions in which operators spend CPU time",
    )
    counters: bool = option(
        False,
        "also count cycles, instructions, cache and branch misses, stalls, page faults and context "
        "switches, as far as the kernel permits",
    )
    gpu: str = option(
        "auto",
        "source of kernels and copies: CUPTI if there is a driver (auto); the same, with a loss if there is "
        "none (cupti); or nothing (default: %(default)s)",
        values=("auto", "cupti", "off"),
        called="source of GPU records",
    )
    gpu_links: str = option(
        "time",
        "how to link kernels to operators: by time (default), or by number, which is exact and costs more",
        values=("time", "exact"),
        called="way to link kernels",
    )
    gpu_graphs: str = option(
        "nodes",
        "record each kernel of a CUDA graph (default), or each launch as a whole, which costs less",
        values=("nodes", "launch"),
        called="detail of CUDA graphs",
    )
    ranges: bool = option(True, "record ranges set through NVTX and ITT (default: %(default)s)")
    emit: str | None = option(
        None,
        "emit operators, steps and phases as ranges for Nsight or VTune",
        values=("nvtx", "itt"),
        called="kind of ranges to emit",
    )
    children: bool = option(
        True,
        "also record child processes that multiprocessing starts, such as DataLoader workers "
        "(default: %(default)s)",
        places=(COMMAND_LINE, CHILDREN, RECORDING),
    )
    keep_argv: bool = option(
        False,
        "record the program's arguments unchanged, without masking tokens, keys and passwords as ***",
        heading=_FILE,
    )
    tries: Sequence[str] = option((), "changes put on the program: words of --try", places=(RECORDING,))
    results: bool = option(
        False,
        "also record what the program computes, so that runs can be compared: what backward() starts from "
        "in each step, what models in eval() return, batches, random numbers",
        places=_OF_WINDOWS,
        heading=CHANGED,
    )
    steps: str | None = option(
        None,
        "record operators only in these steps, counted from 0 and without the last: 10:30, 10: or :30",
        kind="window",
        places=_OF_WINDOWS,
        heading=_STEPS,
        brief="only these steps, such as 10:30, counted from 0",
    )
    repeat: int = option(
        1,
        "number of windows: after --steps 10:30 come 40:60, 70:90 (default: %(default)s)",
        kind="steps",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    duration: float | None = option(
        None,
        "stop recording operators this long after the first recorded step, such as 30s or 5m",
        kind="seconds",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    exit_after: bool = option(
        False,
        "end the program after the last window, as sys.exit() does",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    wait: bool = option(
        False,
        "record no operators until `perfprobe trigger PID` requests some steps",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    baseline: int = option(
        0,
        "measure what recording adds to a step: leave N steps untraced, every second one after the "
        "--warmup steps",
        kind="rows",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    budget: str = option(
        "off",
        "what recording operators may add to the program's CPU time, such as 5%%. Beyond that, steps are "
        "recorded at random and others only timed. off: all are recorded (default: %(default)s)",
        kind="share",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    keep: str = option(
        "all",
        "slow: for long jobs. Keep details only of slow steps, and sums of all others. A step is slow if it "
        "is longer than the 95th percentile of the last 200 steps and than 1.2 times their median",
        values=("all", "slow"),
        called="choice of steps to keep",
        places=_OF_WINDOWS,
        heading=_STEPS,
    )
    rotate: int = option(
        0,
        "begin a new file whenever one reaches this size: run.perfprobe, run.2.perfprobe and so on",
        kind="size",
        places=_OF_WINDOWS,
        heading=_FILE,
    )
    benchmark: bool = option(
        False,
        "measure the speed of the program without tracing: record only when steps begin and end, and how "
        "long they wait for data",
        places=_OF_STEPS,
        heading=_STEPS,
        brief="only how long steps take, without tracing",
    )
    warmup: int = option(
        10,
        "number of first steps that --benchmark leaves out and --baseline traces (default: %(default)s)",
        kind="rows",
        places=_OF_STEPS,
        heading=_STEPS,
    )
    every_step_line: int | None = option(
        None,
        "with --benchmark: print a line on standard error every N steps",
        kind="steps",
        places=_OF_STEPS,
        heading=_STEPS,
    )

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._check_together()
        if self.benchmark:
            self.python = self.operators = self.gpu = "off"
            self.memory = self.ranges = self.children = self.native = self.counters = False
        if self.has_windows:
            self.python, self.children = "off", False
        if self.baseline or self.keep == "slow" or self.rotate:
            self.python, self.children = "sample" if self.python == "both" else self.python, False
        if self.keep == "slow" or self.rotate:
            self.ranges = False

    @property
    def has_windows(self) -> bool:
        """Whether operators are recorded in some steps only."""
        return self.steps is not None or self.duration is not None or self.wait

    @property
    def needs_steps(self) -> bool:
        """Whether steps must be found while the program runs, because not all of them are recorded."""
        some = self.has_windows or self.baseline > 0 or self.keep == "slow" or self.rotate > 0
        return some or self.benchmark

    @property
    def most_cost(self) -> float:
        """The part of the program's CPU time that recording operators may take; 0 for no limit.

        Without the operators of some steps, these options would record only a part of what they are for.
        """
        needs_all = self.keep == "slow" or self.memory or self.emit is not None or self.detail is not None
        limited = self.operators == "observer" and not self.benchmark and not needs_all
        return share(self.budget) if limited else 0

    @property
    def window_option(self) -> str:
        """The option that says in which steps operators are recorded."""
        if self.wait:
            return "--wait"
        return "--duration" if self.steps is None else f"--steps {self.steps}"

    @property
    def leaves_out_children(self) -> str:
        """The option because of which child processes are not recorded; "" if they are."""
        if self.children:
            return ""
        options = {
            "--benchmark": self.benchmark,
            self.window_option: self.has_windows,
            "--baseline": self.baseline > 0,
            "--keep slow": self.keep == "slow",
            "--rotate": self.rotate > 0,
        }
        return next((flag for flag, is_given in options.items() if is_given), "--children off")

    @property
    def window(self) -> tuple[int, int | None]:
        """The first step to record, and the one after the last; None for no end."""
        first, _, end = (self.steps or ":").partition(":")
        return int(first or 0), int(end) if end else None

    @property
    def cpu_timed(self) -> str:
        """The operators for which CPU time is recorded: "outermost", "all" or "off"."""
        return "all" if self.detail == "bench" else self.cpu_time

    def of_child(self, *, forked: bool) -> dict[str, Any]:
        """Returns the options of a child process.

        A forked child does not use what its parent may have been using at the fork: torch's profiler, the
        GPU's driver, other tools. Nor does it use cProfile, which would slow down DataLoader workers.
        """
        given = {**self.of(CHILDREN), "buffer_bytes": SMALLEST_BUFFER_BYTES}
        if not forked:
            return given
        operators = "observer" if self.operators in ("observer", "both") else "off"
        python = "sample" if self.python in ("both", "sample") else "off"
        return {
            **given,
            "operators": operators,
            "python": python,
            "memory": False,
            "gpu": "off",
            "emit": None,
        }

    def recorded(self) -> dict[str, Any]:
        """The meta value `recording`."""
        return {**self.of(RECORDING), "cpu_time": self.cpu_timed}

    def _check_windows(self) -> None:
        share(self.budget)
        is_window = self.steps is None or (":" in self.steps and self.steps.replace(":", "", 1).isdecimal())
        first, end = self.window if is_window else (0, 0)
        if not is_window or (end is not None and end <= first):
            remedy = "give the first step and the one after the last: --steps 10:30"
            raise UsageError("not a window of steps", str(self.steps), remedy)
        if self.repeat > 1 and end is None:
            raise UsageError("a window without an end cannot be repeated", "", "give --steps an end: 10:30")
        if self.exit_after and end is None and self.duration is None:
            raise UsageError("--exit-after needs a window that ends", "", "add --steps 10:30 or --duration")
        if self.wait and (self.steps is not None or self.duration is not None or self.exit_after):
            what = "--wait cannot be combined with windows"
            raise UsageError(what, "", "leave out --wait, or --steps, --duration and --exit-after")
        ends_benchmark = self.benchmark and self.exit_after and self.window[0] == 0
        if self.has_windows and not ends_benchmark and (self.benchmark or self.operators != "observer"):
            what = "only the observer can record windows of steps"
            raise UsageError(what, "", "leave out --benchmark and --operators")
        self._check_baseline()

    def _check_baseline(self) -> None:
        """Checks options that leave out some steps, and --rotate."""
        given = [
            ("--baseline", self.baseline),
            ("--keep slow", self.keep == "slow"),
            ("--rotate", self.rotate),
        ]
        for flag in (flag for flag, is_given in given if is_given):
            if self.benchmark or self.operators != "observer":
                what = f"only the observer can record with {flag}"
                raise UsageError(what, "", "leave out --benchmark and --operators")
            if self.python == "cprofile":
                remedy = f"add --python sample, or leave out {flag}"
                raise UsageError(f"cProfile cannot record with {flag}", "", remedy)
            if self.wait:
                raise UsageError(f"{flag} cannot be combined with --wait", "", "leave one of them out")
        if self.keep == "slow" and self.has_windows:
            raise UsageError(
                "--keep slow needs all steps, not windows", "", "leave out --steps and --duration"
            )
        self._check_whole()
        if 0 < self.rotate < SMALLEST_FILE_BYTES:
            raise UsageError(
                f"files of {self.rotate} bytes are too small", "--rotate", "give it 64 KiB or more"
            )

    def _check_whole(self) -> None:
        """Checks sources that need the rows of all steps, in one file."""
        if self.keep != "slow" and not self.rotate:
            return
        sources = {"--memory": self.memory, "--native": self.native, "--counters": self.counters}
        given = [name for name, is_given in sources.items() if is_given]
        if not given:
            return
        flag, rows = "--rotate", "all rows in one file"
        if self.keep == "slow":
            flag, rows = "--keep slow", "the rows of all steps, and only those of slow steps are kept"
        named = " and ".join(filter(None, (", ".join(given[:-1]), given[-1])))
        needs = "it needs" if len(given) == 1 else "they need"
        what = f"{named} cannot be recorded with {flag}: {needs} {rows}"
        raise UsageError(what, "", f"leave out {named}, or {flag}")

    def _check_together(self) -> None:
        self._check_windows()
        if self.every_step_line is not None and not self.benchmark:
            raise UsageError("only --benchmark prints lines of steps", "", "add --benchmark")
        if self.benchmark and (self.emit is not None or self.memory or self.detail is not None):
            what = "--benchmark records no operators, so it cannot emit or measure them"
            raise UsageError(what, "", "leave out --emit, --memory and --detail, or --benchmark")
        if self.buffer_bytes < SMALLEST_BUFFER_BYTES:
            raise UsageError(
                f"a buffer of {self.buffer_bytes} bytes is too small", "", "give it 4 MiB or more"
            )
        with_autograd = self.operators in ("autograd", "both")
        if self.memory and self.operators == "off":
            raise UsageError("memory cannot be recorded without operators", "", "leave out --operators off")
        if self.emit is not None and self.operators in ("autograd", "off"):
            raise UsageError(
                f"ranges cannot be emitted with operators from {self.operators!r}: the observer emits them",
                "",
                "add --operators observer, or leave --emit out",
            )
        if self.python == "cprofile" and with_autograd:
            raise UsageError(
                f"cProfile cannot count with operators from {self.operators!r}: both need the same "
                f"interpreter hook",
                "",
                "add --python sample, or --operators observer",
            )
