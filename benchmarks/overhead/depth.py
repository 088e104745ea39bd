"""What an operator costs by the depth of the Python stack it is called from.

In a loop, operators are called by one function below `depth` others. In a recursion, each of `depth` nested
calls runs one operator before the next call.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import torch

from benchmarks.overhead.observers import recording
from benchmarks.overhead.region import Case, measure
from benchmarks.overhead.tables import markdown

DEPTHS = (3, 10, 30, 60, 120, 900, 10_000)
OPERATORS = 20_000  # in a block, at least
OURS = "perfprobe, operators only"
_TENSOR = torch.zeros(4)


def loop(depth: int, operators: int) -> None:
    """This many operators below this many calls."""
    if depth > 0:
        return loop(depth - 1, operators)
    for _ in range(operators):
        _TENSOR.neg()
    return None


def recursion(depth: int) -> None:
    """One operator in each of this many calls."""
    _TENSOR.neg()
    if depth > 1:
        recursion(depth - 1)


def make_cases(depth: int, scale: float) -> list[Case]:
    """Both cases at this depth."""
    operators = max(1, round(OPERATORS * scale))
    return [
        Case("loop", partial(loop, depth, operators), 1, operators, False),
        Case("recursion", partial(recursion, depth), max(1, operators // depth), depth, False),
    ]


def report(pairs: int, scale: float, folder: Path) -> list[dict[str, object]]:
    """Measure both cases at every depth and print a table; returns the results."""
    torch.set_num_threads(1)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 2 * DEPTHS[-1]))
    observers = {OURS: partial(recording, python="off")}
    rows: list[list[str]] = []
    measured: list[dict[str, object]] = []
    for depth in DEPTHS:
        rows.append([str(depth)])
        for case in make_cases(depth, scale):
            cost = measure(case, pairs, folder, observers)[OURS]
            rows[-1].append(cost.event_ns(case.events).text(0))
            measured.append({"case": case.name, "depth": depth, "events": case.events, **vars(cost)})
    print(f"\n### depth of the Python stack: ns per operator, {pairs} pairs\n")
    print(markdown(["depth", "in a loop", "in a recursion"], rows), flush=True)
    return measured
