"""What recording adds to a training step, by the program's own clocks, in pairs of runs.

python -m benchmarks.overhead.steps PART [--pairs 20] [--seconds 2]

Both programs of a pair run at the same time, each with all its threads on a processor of its own, and begin
to measure together. The next pair swaps the processors, and a figure comes from two such pairs: a machine
that becomes slower, or a slower processor, affects both programs alike.

PART: nothing: two plain runs, the error of the measurement. outside: a window that never opens. benchmark:
ips of `--benchmark` beside a loop with `perf_counter`, that of a plain run and that of the same run.
baseline: the untraced step that `--baseline` states. keep: watching with `--keep slow`. operators: recording
operators alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.overhead.tables import interval

CHILD = Path(__file__).with_name("steps_child.py")
OPTIONS = {
    "nothing": None,
    "outside": ("--steps", "100000000:100000001"),
    "benchmark": ("--benchmark", "--warmup", "51"),  # the steps that the program itself counts
    "baseline": ("--baseline", "400", "--warmup", "60"),
    "keep": ("--keep", "slow"),
    "operators": ("--python", "off", "--ranges", "off"),
}


class Run(NamedTuple):
    """What a run measured itself: median and tenth percentile of steps, samples a second, CPU of a step."""

    median_ns: float
    tenth_ns: float
    ips: float
    cpu_ns: float


def start(words: Sequence[str], seconds: float, processor: int) -> subprocess.Popen[str]:
    """The program under these words, on one processor."""
    return subprocess.Popen(
        ["taskset", "--cpu-list", str(processor), sys.executable, *words, str(CHILD), str(seconds)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def together(words: Sequence[str], seconds: float, processors: Sequence[int]) -> tuple[Run, Run]:
    """The program under these words and a plain one, at the same time.

    Raises:
        RuntimeError: one of them failed.
    """
    both = [start(*given) for given in zip((words, []), (seconds, seconds), processors, strict=True)]
    for program in both:
        if program.stdout is None or program.stdout.readline() != "warm\n":
            raise RuntimeError(f"{program.args!r} does not begin")
    for program in both:
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    found = [program.communicate()[0] for program in both]
    return Run(*json.loads(found[0])), Run(*json.loads(found[1]))


def tables(path: Path) -> dict[str, list[dict[str, float]]]:
    """The tables of a recording."""
    words = [sys.executable, "-m", "perfprobe", "report", "--json", str(path)]
    found: dict[str, list[dict[str, float]]] = json.loads(subprocess.check_output(words))["tables"]
    return found


def said(part: str, path: Path, ours: Run) -> float:
    """The figure that is compared: that of perfprobe's report, or the program's own median step."""
    if part == "benchmark":
        measures = {str(row["measure"]): row for row in tables(path)["benchmark_measures"]}
        return measures["ips"]["average"]
    return tables(path)["baseline"][0]["untraced_ns"] if part == "baseline" else ours.median_ns


def pair(part: str, path: Path, seconds: float, processors: Sequence[int]) -> dict[str, float]:
    """Figures with perfprobe divided by those of the plain run of the same pair."""
    options = OPTIONS[part]
    words = [] if options is None else ["-m", "perfprobe", "run", "-q", *options, "-o", str(path)]
    ours, plain = together(words, seconds, processors)
    figure = said(part, path, ours)
    against = plain.ips if part == "benchmark" else plain.median_ns
    print(f"{figure:14,.0f} against {against:14,.0f}: {100 * (figure / against - 1):+.2f} %", flush=True)
    same = {"ips, same run": figure / ours.ips} if part == "benchmark" else {}
    return {
        "what is compared": figure / against,
        **same,
        "median step": ours.median_ns / plain.median_ns,
        "tenth percentile": ours.tenth_ns / plain.tenth_ns,
        "CPU time of a step": ours.cpu_ns / plain.cpu_ns,
    }


def main() -> None:
    """Prints a line for each pair, then the medians with their intervals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.steps")
    parser.add_argument("part", choices=OPTIONS)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        parser.error("the two programs of a pair need a processor each")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.pairs + given.pairs % 2):
            path = Path(folder) / f"{number}.perfprobe"
            found.append(pair(given.part, path, given.seconds, processors[:: -1 if number % 2 else 1]))
            path.unlink(missing_ok=True)
    for name in found[0]:
        ratios = [math.sqrt(one[name] * other[name]) for one, other in zip(*[iter(found)] * 2, strict=True)]
        least, greatest = interval(ratios)
        print(
            f"{name:18} {100 * (statistics.median(ratios) - 1):+.2f} % "
            f"({100 * (least - 1):+.2f} to {100 * (greatest - 1):+.2f}, {len(ratios)} times two pairs)"
        )


if __name__ == "__main__":
    main()
