"""Compares shares with the truth: a program times its own phases, and every tool says where the time went.

The truth is the clock that the script itself reads around its phases in plain runs, which alternate with the
profiled ones. A phase's share by a tool is the time in the function of the phase and in what it calls, as a
part of all four phases.

    python -m benchmarks.overhead --part truth
"""

from __future__ import annotations

import json
import pstats
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.overhead.process import WORKLOADS, Run, run
from benchmarks.overhead.tables import Spread, markdown
from benchmarks.overhead.tools import TOOLS, Tool
from perfprobe.results import Results
from perfprobe.support.view import View

PHASES = ("tokenize", "count", "encode", "score")
# Wide embeddings give half of the time to tensors. The calls are all in the other three phases.
SCRIPT = (str(WORKLOADS / "preprocessing.py"), "--width", "2048", "--phases")
BATCHES = 800

Shares = dict[str, float]


@dataclass(frozen=True)
class Watched:
    """A run under a tool, compared with the plain runs around it. shares, plain_shares: percent by phase."""

    cpu_ns: int
    plain_cpu_ns: float
    shares: Shares
    plain_shares: Shares

    @property
    def error(self) -> float:
        """The largest error of a phase's share, in points."""
        return max(abs(self.shares[phase] - self.plain_shares[phase]) for phase in PHASES)


def normalised(times: dict[str, float]) -> Shares:
    """Converts times to percent of the four phases' sum."""
    whole = sum(times.get(phase, 0.0) for phase in PHASES) or 1.0
    return {phase: 100 * times.get(phase, 0.0) / whole for phase in PHASES}


def by_timers(output: str) -> Shares:
    """The shares that the script prints."""
    found = re.findall(r"^(\w+) ([\d.]+) % of", output, re.MULTILINE)
    return {phase: float(share) for phase, share in found}


def by_perfprobe(path: Path) -> Shares:
    """The shares by the report's table of Python functions."""
    rows = Results(str(path)).document(View())["tables"]["functions"]
    own = [row for row in rows if row["file"] == SCRIPT[0]]
    return normalised({row["function"].rpartition(".")[2]: row["total_ns"] or 0 for row in own})


def by_pstats(path: Path) -> Shares:
    """The shares by cProfile's cumulative times."""
    stats: dict[Any, Any] = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    return normalised({name: row[3] for (file, _, name), row in stats.items() if "preprocessing" in file})


def by_pyinstrument(path: Path) -> Shares:
    """The shares by the outermost frame of each phase in the call tree."""
    times: dict[str, float] = dict.fromkeys(PHASES, 0.0)
    frames = [json.loads(path.read_text())["root_frame"]]
    while frames:
        frame = frames.pop()
        if frame["function"] in PHASES:
            times[frame["function"]] += frame["time"]
        else:
            frames += frame["children"]
    return normalised(times)


def by_stacks(path: Path) -> Shares:
    """The shares by py-spy's stacks with counts: `main (script.py:12);count (script.py:70) 31`."""
    times: dict[str, float] = dict.fromkeys(PHASES, 0.0)
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        names = {frame.partition(" ")[0].rpartition(".")[2] for frame in stack.split(";")}
        for phase in names.intersection(PHASES):
            times[phase] += int(count)
    return normalised(times)


READERS: dict[str, Callable[[Path], Shares]] = {
    "perfprobe": by_perfprobe,
    "perfprobe --python sample": by_perfprobe,
    "perfprobe --python cprofile": by_perfprobe,
    "cProfile": by_pstats,
    "pyinstrument": by_pyinstrument,
    "py-spy": by_stacks,
}


def plain(words: list[str], folder: Path) -> tuple[Run, Shares]:
    """A run of the script alone."""
    made = run([sys.executable, *words], folder)
    return made, by_timers((folder / "output.txt").read_text())


def watch(
    tool: Tool, words: list[str], before: tuple[Run, Shares], folder: Path
) -> tuple[Watched, tuple[Run, Shares]]:
    """A profiled run and the plain run after it; `before` is the one before."""
    output = folder / f"output{tool.suffix}"
    watched = run(tool.words(output, words), folder)
    after = plain(words, folder)
    shares = READERS[tool.name](output)
    output.unlink()
    truth = {phase: (before[1][phase] + after[1][phase]) / 2 for phase in PHASES}
    return Watched(watched.cpu_ns, (before[0].cpu_ns + after[0].cpu_ns) / 2, shares, truth), after


def report(rounds: int, scale: float, folder: Path) -> dict[str, object]:
    """Measure every tool and print the table; returns all runs."""
    words = [*SCRIPT, "--batches", str(max(1, round(BATCHES * scale)))]
    tools = [TOOLS[name] for name in READERS]
    for missing in filter(None, (tool.refusal for tool in tools)):
        print(f"left out: {missing}", file=sys.stderr)
    measured: dict[str, list[Watched]] = {tool.name: [] for tool in tools if tool.refusal is None}
    last = plain(words, folder)
    for _ in range(rounds):
        for name, runs in measured.items():
            try:
                watched, last = watch(TOOLS[name], words, last, folder)
            except (RuntimeError, subprocess.SubprocessError) as error:
                print(f"{name} failed: {str(error).splitlines()[-1]}", file=sys.stderr)
                continue
            runs.append(watched)
    measured = {name: runs for name, runs in measured.items() if runs}
    every = [run for runs in measured.values() for run in runs]
    truth = [Spread.of(run.plain_shares[phase] for run in every).text(1) for phase in PHASES]
    plain_s = Spread.of(run.plain_cpu_ns / 1e9 for run in every)
    head = ["share of each phase, %", *PHASES, "largest error, points", "CPU time, times plain"]
    rows = [["**the script's own clock**", *truth, "-", "-"]]
    rows += [_row(name, runs) for name, runs in measured.items()]
    print(
        f"\n### Truth: plain {plain_s.text(2)} CPU s, {rounds} rounds\n\n{markdown(head, rows)}", flush=True
    )
    return {name: [vars(run) for run in runs] for name, runs in measured.items()}


def _row(name: str, runs: list[Watched]) -> list[str]:
    return [
        name,
        *(Spread.of(run.shares[phase] for run in runs).text(1) for phase in PHASES),
        Spread.of(run.error for run in runs).text(1),
        Spread.of(run.cpu_ns / run.plain_cpu_ns for run in runs).text(2),
    ]
