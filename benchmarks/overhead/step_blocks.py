"""What recording adds to a training step, in pairs of blocks of steps within one process.

python -m benchmarks.overhead.step_blocks [--part outside ...] [--pairs 100] [--steps 60]

Each pair is a plain block and a recorded one, less than a second apart and with the same memory; their order
alternates. Neither the machine's load nor the placement of the program's memory then outweighs a part of a
percent. CPU time is that of the process, so perfprobe's threads count; starting and stopping do not. A thread
waits in the background, as in programs with loaders or OpenMP: in a process with one thread malloc takes no
locks, and perfprobe's writer thread would change that (`python -m benchmarks.overhead.steps` has this too).

outside: a window that never opens. benchmark: `--benchmark`. keep: `--keep slow`, also without samples of
Python functions. operators: recording only operators. nothing: two plain blocks.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from benchmarks.overhead.tables import interval
from perfprobe.collect.options import Options
from perfprobe.session import Session

PARTS: dict[str, dict[str, Any] | None] = {
    "nothing": None,
    "outside": {"steps": "100000000:100000001"},
    "benchmark": {"benchmark": True},
    "keep": {"keep": "slow"},
    "keep, no samples": {"keep": "slow", "python": "off"},
    "operators": {"python": "off", "ranges": False},
}
WIDTH, BATCH, WARM_UP = 192, 64, 10


def training() -> Iterator[None]:
    """Yields after each step of an endless training: twelve small layers, about 1.5 ms."""
    layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()] * 6
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    samples = torch.rand(WIDTH).expand(1_000_000_000, WIDTH)
    for batch in DataLoader(samples, batch_size=BATCH, collate_fn=torch.stack):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        yield


class Blocks:
    """Blocks of steps of one training, each measured after some steps of warm-up."""

    def __init__(self, steps: int, folder: Path) -> None:
        self._steps = steps
        self._folder = folder
        self._numbers = itertools.count()
        self._training = training()

    def plain(self) -> tuple[int, int]:
        """CPU and wall time in ns."""
        for _ in itertools.islice(self._training, WARM_UP):
            pass
        cpu_ns, begun_ns = time.process_time_ns(), time.perf_counter_ns()
        for _ in itertools.islice(self._training, self._steps):
            pass
        return time.process_time_ns() - cpu_ns, time.perf_counter_ns() - begun_ns

    def recorded(self, given: dict[str, Any]) -> tuple[int, int]:
        """The same under a recording with these options."""
        program = {"argv": ["training"], "script": None, "module": None, "cwd": None}
        session = Session(program, None, Options(**given), tell=lambda line: None)
        path = self._folder / f"{next(self._numbers)}.perfprobe"
        session.start(str(path), named=True)
        session.begin()
        measured = self.plain()
        session.stop(None)
        path.unlink()
        return measured


def ratios(plain: Callable[[], tuple[int, int]], other: Callable[[], tuple[int, int]], pairs: int) -> Any:
    """CPU and wall time of `other` divided by that of `plain`, for each pair."""
    found = []
    for number in range(pairs):
        if number % 2:
            measured, beside = other(), plain()
        else:
            beside, measured = plain(), other()
        found.append([own / alone for own, alone in zip(measured, beside, strict=True)])
    return zip(*found, strict=True)


def line(what: str, values: Sequence[float]) -> str:
    """Median and interval in percent."""
    median, (least, greatest) = statistics.median(values), interval(values)
    return f"{what} {100 * (median - 1):+6.2f} % ({100 * (least - 1):+.2f} to {100 * (greatest - 1):+.2f})"


def main() -> None:
    """Prints a line for each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.step_blocks")
    parser.add_argument("--part", choices=PARTS, action="append", help="measure only this (repeatable)")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=60, help="in a block")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        blocks = Blocks(given.steps, Path(folder))
        for part in given.part or PARTS:
            options = PARTS[part]
            other = blocks.plain if options is None else partial(blocks.recorded, options)
            other()
            cpu, wall = ratios(blocks.plain, other, given.pairs)
            print(f"{part:18} {line('CPU', cpu)}  {line('time', wall)}  {given.pairs} pairs", flush=True)


if __name__ == "__main__":
    main()
