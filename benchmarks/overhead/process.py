"""What a whole run costs: `python -m perfprobe script.py` beside `python script.py`, in turn.

CPU time is that of the process and of the children it waited for, so the report counts. Memory is the
high-water mark of the program's own process, and of the child that prints the report by itself.
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
from benchmarks.workloads.small_operators import EVENTS_A_STEP
from perfprobe.tables import storage

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
POLL_S = 0.005
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Case:
    """A workload script with its arguments."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One finished process: CPU time with children's, peak memory, children's peak, and when it ended."""

    cpu_ns: int
    peak_bytes: int
    child_peak_bytes: int
    end_ns: int


@dataclass(frozen=True)
class Recorded:
    """What a run left behind: rows, bytes on disk, and when the recording was stopped (CLOCK_MONOTONIC)."""

    events: int
    disk_bytes: int
    stop_ns: int


def make_cases(scale: float) -> list[Case]:
    """The small operators at one length and at four times that (5 million events), and the transformer."""
    steps = max(1, round(5_000_000 / EVENTS_A_STEP * scale))
    loop = str(WORKLOADS / "small_operators.py")
    training = (str(WORKLOADS / "transformer.py"), "--threads", "1")
    return [
        Case(f"small operators, {steps // 4} steps", (loop, "--steps", str(steps // 4))),
        Case(f"small operators, {steps} steps", (loop, "--steps", str(steps))),
        Case("transformer", training),
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
    """The live children of a process's main thread."""
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def run(words: Sequence[str], folder: Path) -> Run:
    """Run `python words...` in `folder`.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    peak, child_peak = 0, 0
    with (folder / "output.txt").open("w+") as output:
        process = subprocess.Popen([sys.executable, *words], cwd=folder, stdout=output, stderr=output)
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


def examine(path: Path) -> Recorded:
    """Count and weigh a recording, then remove it."""
    recording = storage.read(str(path))
    events = sum(len(batch) for batch in recording.operators(["end_ns"]))
    recorded = Recorded(events, path.stat().st_size, int(recording.meta["stop"]["monotonic_ns"]))
    path.unlink()
    return recorded


def measure(case: Case, pairs: int, folder: Path) -> list[tuple[Run, Run, Recorded]]:
    """Plain runs and recorded ones in turn; which comes first changes from pair to pair."""
    path = folder / "process.perfprobe"
    watched_words = ["-m", "perfprobe", "-o", str(path), *case.words]
    measured = []
    for turn in range(pairs):
        plain_first = run(case.words, folder) if turn % 2 == 0 else None
        watched = run(watched_words, folder)
        recorded = examine(path)
        measured.append((plain_first or run(case.words, folder), watched, recorded))
    return measured


def row(case: Case, pairs: list[tuple[Run, Run, Recorded]]) -> list[str]:
    """The table's row for one case."""
    extra = Spread.of((watched.peak_bytes - plain.peak_bytes) / MEBIBYTE for plain, watched, _ in pairs)
    report_s = Spread.of((watched.end_ns - recorded.stop_ns) / 1e9 for _, watched, recorded in pairs)
    million_a_s = Spread.of(
        recorded.events * 1e3 / (watched.end_ns - recorded.stop_ns) for _, watched, recorded in pairs
    )
    return [
        case.name,
        str(pairs[0][2].events),
        Spread.of(plain.cpu_ns / 1e9 for plain, _, _ in pairs).text(2),
        Spread.of(watched.cpu_ns / plain.cpu_ns for plain, watched, _ in pairs).text(2),
        report_s.text(2),
        million_a_s.text(2),
        Spread.of(recorded.disk_bytes / recorded.events for _, _, recorded in pairs).text(1),
        extra.text(0),
        Spread.of(watched.child_peak_bytes / MEBIBYTE for _, watched, _ in pairs).text(0),
    ]


def report(pairs: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure every case and print the table; returns what was measured."""
    head = [
        "program",
        "events",
        "plain, CPU s",
        "CPU time, times plain",
        "stop to end, s",
        "M events/s",
        "bytes an event",
        "extra memory, MiB",
        "report's memory, MiB",
    ]
    measured = [(case, measure(case, pairs, folder)) for case in make_cases(scale)]
    print(f"\n### whole processes, {pairs} pairs\n")
    print(markdown(head, [row(case, runs) for case, runs in measured]), flush=True)
    return [
        {
            "program": case.name,
            "pairs": [
                {"plain": vars(plain), "watched": vars(watched), "recorded": vars(recorded)}
                for plain, watched, recorded in runs
            ],
        }
        for case, runs in measured
    ]
