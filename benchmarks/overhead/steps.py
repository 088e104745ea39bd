"""What recording adds to a training step, by the program's own clocks, in pairs of runs.

python -m benchmarks.overhead.steps outside|benchmark|baseline|keep [--pairs 10] [--seconds 4]

outside: a window that never opens, against plain runs. benchmark: ips of `--benchmark` against a loop with
`perf_counter` in a plain run. baseline: untraced steps of `--baseline` against plain runs. keep: runs with
`--keep slow` against plain runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

CHILD = Path(__file__).with_name("steps_child.py")
OPTIONS = {
    "outside": ("--steps", "1000000:1000001"),
    "benchmark": ("--benchmark",),
    "baseline": ("--baseline", "400"),
    "keep": ("--keep", "slow"),
}


class Run(NamedTuple):
    """What a run measured itself: its median step, and steps a second without the first ten."""

    median_ns: float
    ips: float


def run(words: Sequence[str], seconds: float) -> Run:
    """Runs the program, after these words of the command line."""
    command = [sys.executable, *words, str(CHILD), str(seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return Run(*json.loads(done.stdout))


def report(path: Path) -> dict[str, list[dict[str, float]]]:
    """The tables of a recording."""
    words = [sys.executable, "-m", "perfprobe", "report", "--json", str(path)]
    tables: dict[str, list[dict[str, float]]] = json.loads(subprocess.check_output(words))["tables"]
    return tables


def pair(part: str, path: Path, seconds: float) -> tuple[Run, Run, float]:
    """A run with perfprobe, a plain run, and the figure of perfprobe's report that is compared."""
    words = ["-m", "perfprobe", "run", "-q", *OPTIONS[part], "-o", str(path)]
    ours, plain = run(words, seconds), run([], seconds)
    if part == "benchmark":
        measures = {str(row["measure"]): row for row in report(path)["benchmark_measures"]}
        return ours, plain, measures["ips"]["average"]
    if part == "baseline":
        return ours, plain, report(path)["baseline"][0]["untraced_ns"]
    return ours, plain, ours.median_ns


def main() -> None:
    """Prints a line for each pair, then the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.steps")
    parser.add_argument("part", choices=OPTIONS)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4)
    given = parser.parse_args()
    said, plain, medians = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.pairs):
            ours, alone, figure = pair(given.part, Path(folder) / f"{number}.perfprobe", given.seconds)
            reference = alone.ips if given.part == "benchmark" else alone.median_ns
            said.append(figure)
            plain.append(reference)
            medians.append(ours.median_ns / alone.median_ns)
            print(
                f"{number}: {figure:,.0f} against {reference:,.0f}: {100 * (figure / reference - 1):+.2f} %"
            )
    ratios = sorted(ours / alone for ours, alone in zip(said, plain, strict=True))
    print(f"median of ratios {100 * (statistics.median(ratios) - 1):+.2f} %")
    print(f"ratio of medians {100 * (statistics.median(said) / statistics.median(plain) - 1):+.2f} %")
    print(f"ratio of least   {100 * (min(said) / min(plain) - 1):+.2f} %")
    print(f"program's own median, with and without: {100 * (statistics.median(medians) - 1):+.2f} %")


if __name__ == "__main__":
    main()
