"""What recording adds to a training step, in pairs of blocks of steps within one process.

python -m benchmarks.overhead.step_blocks [--body empty|training|sample] [--part outside ...] [--pairs 100]

Each pair is a plain block and a recorded one, less than a second apart and with the same memory; their order
alternates. Neither the machine's load nor the placement of the program's memory then outweighs a part of a
percent. The empty body is a loader and an optimizer without work, some 20 us: what recording adds to it in us
is what it adds to any step, apart from operators. A sample is one of a loader's worker: 30 operators of
torch. CPU time is that of the process, so perfprobe's threads count; starting and stopping do not. Python's
cyclic garbage collector is off: a block is so short that one collection more or less would decide. A thread
waits in the background, as in programs with loaders or OpenMP: in a process with one thread malloc takes no
locks, and perfprobe's writer thread would change that (`python -m benchmarks.overhead.steps` has this too).

outside: a window that never opens. benchmark: `--benchmark`. keep: `--keep slow`, also without samples of
Python functions. operators: recording only operators. nothing: two plain blocks. thread times: only run time,
waiting and switches of threads, read twice a second, so that blocks must be longer (`--steps 600`). sampler:
these and the sampler, with the clocks of threads at its ticks. all: what is recorded by default.
"""

from __future__ import annotations

import argparse
import gc
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
from torch.utils.data import DataLoader, Dataset

from benchmarks.overhead.tables import interval
from benchmarks.overhead.workers import tensors
from perfprobe.collect.options import Options
from perfprobe.session import Session

PARTS: dict[str, dict[str, Any] | None] = {
    "nothing": None,
    "outside": {"steps": "100000000:100000001"},
    "benchmark": {"benchmark": True},
    "keep": {"keep": "slow"},
    "keep, no samples": {"keep": "slow", "python": "off"},
    "operators": {"python": "off", "ranges": False},
    "sampler": {"python": "sample", "operators": "off", "ranges": False},
    "thread times": {"python": "off", "operators": "off", "ranges": False},
    "all": {},
}
WIDTH, BATCH, WARM_UP = 192, 64, 10
STEPS = {"empty": 1500, "training": 30, "sample": 40}  # in a block, some 40 ms


class One(Dataset[torch.Tensor]):
    """The same sample again and again."""

    sample = torch.ones(4)

    def __getitem__(self, at: int) -> torch.Tensor:
        return self.sample


def empty() -> Iterator[None]:
    """Yields behind each step of a loop that does nothing."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
    for _ in DataLoader(One(), batch_size=None, sampler=itertools.count()):
        optimizer.step()
        yield


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


def sample() -> Iterator[None]:
    """Yields after each sample that a worker would load, about 1 ms."""
    for number in itertools.count():
        tensors(number)
        yield


BODIES = {"empty": empty, "training": training, "sample": sample}


class Blocks:
    """Blocks of steps of one loop, each measured after some steps of warm-up."""

    def __init__(self, loop: Iterator[None], steps: int, folder: Path) -> None:
        self._loop = loop
        self._steps = steps
        self._folder = folder
        self._numbers = itertools.count()

    def plain(self) -> float:
        """CPU time of a step in ns."""
        for _ in itertools.islice(self._loop, WARM_UP):
            pass
        begun_ns = time.process_time_ns()
        for _ in itertools.islice(self._loop, self._steps):
            pass
        return (time.process_time_ns() - begun_ns) / self._steps

    def recorded(self, given: dict[str, Any]) -> float:
        """The same under a recording with these options."""
        program = {"argv": ["training"], "script": None, "module": None, "cwd": None}
        session = Session(program, None, Options(**given), tell=lambda line: None)
        path = self._folder / f"{next(self._numbers)}.perfprobe"
        session.start(str(path), named=True)
        session.begin()
        step_ns = self.plain()
        session.stop(None)
        path.unlink()
        return step_ns


def pairs(blocks: Blocks, other: Callable[[], float], count: int) -> list[tuple[float, float]]:
    """CPU time of a step in a plain block and in one of `other` beside it, each first every second time."""
    found = []
    for number in range(count):
        if number % 2:
            recorded_ns, plain_ns = other(), blocks.plain()
        else:
            plain_ns, recorded_ns = blocks.plain(), other()
        found.append((plain_ns, recorded_ns))
    return found


def line(found: Sequence[tuple[float, float]]) -> str:
    """What is added, in us and in percent, with 95 % intervals of the medians."""
    texts = []
    for unit, values in (
        ("us", [(recorded_ns - plain_ns) / 1000 for plain_ns, recorded_ns in found]),
        ("%", [100 * (recorded_ns / plain_ns - 1) for plain_ns, recorded_ns in found]),
    ):
        least, greatest = interval(values)
        texts.append(f"{statistics.median(values):+7.2f} {unit} ({least:+.2f} to {greatest:+.2f})")
    plain_us = statistics.median(plain_ns for plain_ns, _ in found) / 1000
    return f"{texts[0]}, {texts[1]} of {plain_us:,.1f} us CPU a step"


def main() -> None:
    """Prints a line for each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.step_blocks")
    parser.add_argument("--body", choices=STEPS, default="training")
    parser.add_argument("--part", choices=PARTS, action="append", help="measure only this (repeatable)")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--steps", type=int, help="in a block, instead of some 40 ms")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    gc.disable()
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        blocks = Blocks(BODIES[given.body](), given.steps or STEPS[given.body], Path(folder))
        for part in given.part or PARTS:
            options = PARTS[part]
            other = blocks.plain if options is None else partial(blocks.recorded, options)
            other()
            print(f"{part:17} {line(pairs(blocks, other, given.pairs))}", flush=True)


if __name__ == "__main__":
    main()
