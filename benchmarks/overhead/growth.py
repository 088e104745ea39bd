"""How the cost of recording, and of the report, grows with depth, threads, modules and distinct shapes.

    python -m benchmarks.overhead.growth [--of depth] [--rounds 3] [--calls 20000]

Each program runs the same number of operators, at a stack of growing depth, in more threads, in more modules,
or with more shapes. Printed is the cost beyond the plain program for one operator, the CPU time of the report
for one, and for both the exponent: the slope of the line through the logarithms of size and cost. 0: the cost
does not grow. 1: it doubles with the size. The plain program runs beside each, because neighbours slow both.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression, median

from benchmarks.overhead.tables import markdown

_HEAD = """
import sys, threading, time
import torch
torch.set_num_threads(1)
size, calls = int(sys.argv[1]), int(sys.argv[2])
x = torch.ones(4, 4)
"""
_TAIL = """
work()
begun_ns = time.process_time_ns()
work()
print(time.process_time_ns() - begun_ns)
"""
# `work()` runs `calls` operators.
PROGRAMS = {
    "depth": """
sys.setrecursionlimit(size + 1000)
def work(depth=0):
    if depth < size:
        return work(depth + 1)
    for _ in range(calls):
        x + x
""",
    "threads": """
def part():
    for _ in range(calls // size):
        x + x
def work():
    threads = [threading.Thread(target=part) for _ in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
""",
    "modules": """
class Add(torch.nn.Module):
    def forward(self, x):
        return x + x
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Add() for _ in range(size)])
    def forward(self, x):
        for part in self.parts:
            part(x)
net = Net()
def work():
    for _ in range(calls // size):
        net(x)
""",
    "shapes": """
row = torch.ones(size)
shapes = [row[:number] for number in range(size)]
def work():
    for _ in range(calls // size):
        for shape in shapes:
            shape + 1
""",
}
SIZES = {
    "depth": (10, 40, 160, 640),
    "threads": (2, 8, 32, 128),
    "modules": (10, 100, 1_000, 10_000),
    "shapes": (10, 100, 1_000, 10_000),
}


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of the line through the logarithms; not a number if a cost is not positive."""
    if min(costs) <= 0:
        return math.nan
    return linear_regression([math.log(size) for size in sizes], [math.log(cost) for cost in costs]).slope


def costs_ns(of: str, size: int, calls: int, rounds: int, folder: Path) -> tuple[float, float]:
    """ns for one operator, medians of rounds: of recording, beyond the plain program, and of the report."""
    program = folder / f"{of}.py"
    program.write_text(_HEAD + PROGRAMS[of] + _TAIL, encoding="utf-8")
    empty = [str(program), str(size), "0"]  # its report costs what does not depend on operators
    words = [str(program), str(size), str(calls)]
    extra_ns, report_ns = [], []
    for _ in range(rounds):
        plain_ns = int(_output(words))
        recorded_ns, with_operators_ns = _recorded(words, folder / "run.perfprobe")
        extra_ns.append(recorded_ns - plain_ns)
        report_ns.append(with_operators_ns - _recorded(empty, folder / "run.perfprobe")[1])
    return median(extra_ns) / calls, median(report_ns) / (2 * calls)


def _recorded(words: Sequence[str], recording: Path) -> tuple[float, float]:
    """CPU time in ns: of the measured part of a program under perfprobe, and of the report."""
    recording.unlink(missing_ok=True)
    took_ns = int(_output(["-m", "perfprobe", "run", "-q", "-o", str(recording), *words]))
    before_ns = _children_ns()
    _output(["-m", "perfprobe", "report", str(recording)])
    return took_ns, _children_ns() - before_ns


def _children_ns() -> float:
    """CPU time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e9 * (used.ru_utime + used.ru_stime)


def _output(words: Sequence[str]) -> str:
    """What a Python process prints."""
    command = [sys.executable, *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout


def main() -> None:
    """Measures, and prints a row for each kind of growth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.growth")
    parser.add_argument("--of", choices=PROGRAMS, action="append", help="only this (repeatable)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=20_000, help="operators of a program")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for of in args.of or PROGRAMS:
            sizes = SIZES[of]
            found = [costs_ns(of, size, args.calls, args.rounds, Path(name)) for size in sizes]
            for part, costs in zip(("recording", "report"), zip(*found, strict=True), strict=True):
                shown = ", ".join(f"{size:,}: {cost:,.0f}" for size, cost in zip(sizes, costs, strict=True))
                rows.append([f"{of}, {part}", shown, f"{exponent(sizes, costs):.2f}"])
            print(f"{of} measured", file=sys.stderr)
    print(markdown(["grows", "ns for one operator", "exponent"], rows))


if __name__ == "__main__":
    main()
