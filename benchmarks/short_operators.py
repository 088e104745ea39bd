"""From which duration on operators take longer for more data: what the first screen calls short.

    python -m benchmarks.short_operators [--rounds 9]

Trains a GRU cell, step by step in Python, on batches of growing size, in turn. Prints how often an operator
begins, and how much longer a step takes for four times the data: 1 if only the number of operators matters.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch

from benchmarks.overhead.tables import markdown

BATCHES = (4, 16, 64, 256, 1024)
LENGTH, INPUTS, WIDTH = 50, 8, 16


def trained(batch: int) -> Callable[[], None]:
    """A function that runs one training step."""
    cell, head = torch.nn.GRUCell(INPUTS, WIDTH), torch.nn.Linear(WIDTH, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    inputs = torch.randn(LENGTH, batch, INPUTS)

    def step() -> None:
        hidden, loss = torch.zeros(batch, WIDTH), torch.zeros(())
        for each in inputs:
            hidden = cell(each, hidden)
            loss = loss + (head(hidden) - each[:, :1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def operators(step: Callable[[], None]) -> int:
    """How many operators torch's profiler sees in a step."""
    with torch.profiler.profile() as seen:
        step()
    return sum(event.name.startswith("aten::") for event in seen.events())


def main() -> None:
    """Prints a row for each size of batch."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.short_operators")
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    steps = {batch: trained(batch) for batch in BATCHES}
    counts = {batch: operators(step) for batch, step in steps.items()}
    times_ns: dict[int, list[int]] = {batch: [] for batch in BATCHES}
    for _ in range(rounds):
        for batch, step in steps.items():
            start_ns = time.thread_time_ns()
            step()
            times_ns[batch].append(time.thread_time_ns() - start_ns)
    rows = []
    for batch, larger in zip(BATCHES, (*BATCHES[1:], None), strict=True):
        step_ns = median(times_ns[batch])
        longer = "" if larger is None else f"{median(times_ns[larger]) / step_ns:.2f}"
        every = f"{step_ns / counts[batch] / 1e3:.1f} us"
        rows.append([str(batch), f"{step_ns / 1e6:.1f} ms", every, longer])
    print(markdown(["batch", "step", "an operator every", "4 times the data"], rows))


if __name__ == "__main__":
    main()
