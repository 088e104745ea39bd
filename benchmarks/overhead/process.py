"""What profiling costs a whole run: start, imports, program, stop and report, beside the plain program.

The plain program runs before and after every profiled one; the reference is the mean of the two. Memory is
the high-water mark of the largest process of the run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead.tables import Spread, markdown
from benchmarks.overhead.tools import TOOLS, Tool
from benchmarks.workloads.small_operators import EVENTS_A_STEP
from perfprobe.tables import storage

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
POLL_S = 0.005
MEBIBYTE = 1 << 20
OURS = ("perfprobe",)
ALL = tuple(
    name for name in TOOLS if name not in ("perfprobe --python sample", "perfprobe --python cprofile")
)


@dataclass(frozen=True)
class Case:
    """A workload script with its arguments, and the tools that run it."""

    name: str
    words: tuple[str, ...]
    tools: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One finished process: CPU time and peak memory, including its children, and when it ended."""

    cpu_ns: int
    peak_bytes: int
    child_peak_bytes: int
    end_ns: int

    @property
    def largest_bytes(self) -> int:
        """Peak of the largest process: py-spy runs the program as its child, perfprobe the report."""
        return max(self.peak_bytes, self.child_peak_bytes)


@dataclass(frozen=True)
class Watched:
    """A run under a tool, compared with the plain runs before and after.

    Attributes:
        plain_cpu_ns: mean of the two plain runs; likewise plain_peak_bytes.
        stop_ns: when the program ended (CLOCK_MONOTONIC), None if the tool does not say.
        events: recorded operators and ranges, None if the tool does not say.
        disk_bytes: size of the files it left.
    """

    run: Run
    plain_cpu_ns: float
    plain_peak_bytes: float
    stop_ns: int | None
    events: int | None
    disk_bytes: int

    @property
    def report_ns(self) -> int | None:
        """From the end of the program to the end of the process."""
        return None if self.stop_ns is None else self.run.end_ns - self.stop_ns


def make_cases(scale: float) -> list[Case]:
    """Every tool at one length and four times that, perfprobe alone at 5 million events, real programs."""
    loop, short, long = str(WORKLOADS / "small_operators.py"), 4_000, 333_333
    lengths = [(short, ALL), (4 * short, ALL), (long // 4, OURS), (long, OURS)]
    steps = [(max(1, round(count * scale)), tools) for count, tools in lengths]
    return [
        *(
            Case(f"small operators, {count * EVENTS_A_STEP:,} events", (loop, "--steps", str(count)), tools)
            for count, tools in steps
        ),
        Case("transformer", (str(WORKLOADS / "transformer.py"), "--threads", "1"), ALL),
        Case("ResNet-18", (str(WORKLOADS / "resnet.py"), "--threads", "1"), ALL),
        Case("preprocessing", (str(WORKLOADS / "preprocessing.py"),), ALL),
    ]


def high_water(process: int) -> int:
    """Peak resident memory of a live process in bytes; 0 once it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    marks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(marks[0]) * 1024 if marks else 0


def children(process: int) -> list[int]:
    """The live children of a process, started by any of its threads."""
    found: list[int] = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except OSError:
            continue
    return found


def run(words: Sequence[str], folder: Path) -> Run:
    """Run a command in `folder`.

    Raises:
        RuntimeError: it failed; the message has its output.
    """
    peak, child_peak = 0, 0
    with (folder / "output.txt").open("w+") as output:
        process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=output)
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            peak = max(peak, high_water(process.pid))
            child_peak = max([child_peak, *map(high_water, children(process.pid))])
            time.sleep(POLL_S)
        end_ns = time.monotonic_ns()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}:\n{output.read()}")
    return Run(round((usage.ru_utime + usage.ru_stime) * 1e9), peak, child_peak, end_ns)


def watch(case: Case, tool: Tool, plain: Run, folder: Path) -> tuple[Watched, Run]:
    """A profiled run and the plain run after it; `plain` is the one before."""
    output = folder / f"output{tool.suffix}"
    watched = run(tool.words(output, case.words), folder)
    after = run([sys.executable, *case.words], folder)
    stop_ns, events = _reported(output)
    made = Watched(
        run=watched,
        plain_cpu_ns=(plain.cpu_ns + after.cpu_ns) / 2,
        plain_peak_bytes=(plain.largest_bytes + after.largest_bytes) / 2,
        stop_ns=stop_ns,
        events=events,
        disk_bytes=output.stat().st_size if output.exists() else 0,
    )
    output.unlink(missing_ok=True)
    output.with_suffix(".ended").unlink(missing_ok=True)
    return made, after


def _reported(output: Path) -> tuple[int | None, int | None]:
    """When the program ended, and how many events were recorded."""
    if output.suffix == ".perfprobe":
        recording = storage.read(str(output))
        return int(recording.meta["stop"]["monotonic_ns"]), recording.operator_rows
    ended = output.with_suffix(".ended")
    return (int(ended.read_text(encoding="ascii")) if ended.exists() else None), None


def measure(case: Case, rounds: int, folder: Path) -> dict[str, list[Watched]]:
    """Runs every tool once per round, with plain runs between. Reports and leaves out failed runs."""
    tools = [TOOLS[name] for name in case.tools if TOOLS[name].refusal is None]
    measured: dict[str, list[Watched]] = {tool.name: [] for tool in tools}
    plain = run([sys.executable, *case.words], folder)
    for _ in range(rounds):
        for tool in tools:
            try:
                watched, plain = watch(case, tool, plain, folder)
            except RuntimeError as error:
                if tool.suffix == ".perfprobe":
                    raise
                print(f"{tool.name} failed: {str(error).splitlines()[-1]}", file=sys.stderr)
                continue
            measured[tool.name].append(watched)
    return {name: runs for name, runs in measured.items() if runs}


def row(name: str, runs: Sequence[Watched], events: int) -> list[str]:
    """The table's row for one tool. `events`: as counted by perfprobe."""
    report_s = [run.report_ns / 1e9 for run in runs if run.report_ns is not None]
    extra = [(run.run.largest_bytes - run.plain_peak_bytes) / MEBIBYTE for run in runs]
    disk = [run.disk_bytes / events for run in runs if run.events is not None]
    speed = [events / 1e6 / seconds for seconds in report_s] if TOOLS[name].sees_operators else []
    return [
        name,
        Spread.of(run.run.cpu_ns / run.plain_cpu_ns for run in runs).text(2),
        Spread.of(report_s).text(2) if report_s else "-",
        Spread.of(speed).text(2) if speed else "-",
        Spread.of(disk).text(1) if disk else "-",
        Spread.of(extra).text(0),
    ]


HEAD = [
    "tool",
    "CPU time, times plain",
    "stop to end, s",
    "M events/s",
    "bytes an event",
    "extra memory, MiB",
]


def report(rounds: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure every case and print its table; returns the results."""
    measured: list[dict[str, object]] = []
    for missing in filter(None, (tool.refusal for tool in TOOLS.values())):
        print(f"left out: {missing}", file=sys.stderr)
    for case in make_cases(scale):
        tools = measure(case, rounds, folder)
        events = next(run.events for run in tools["perfprobe"] if run.events is not None)
        plain_s = Spread.of(run.plain_cpu_ns / 1e9 for runs in tools.values() for run in runs)
        print(
            f"\n### {case.name}: {events:,} events, plain {plain_s.text(2)} CPU s, {rounds} rounds\n\n"
            + markdown(HEAD, [row(name, runs, events) for name, runs in tools.items()]),
            flush=True,
        )
        runs = {name: [{**vars(run), "run": vars(run.run)} for run in found] for name, found in tools.items()}
        measured.append({"program": case.name, "events": events, "tools": runs})
    return measured
