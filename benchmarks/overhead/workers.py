"""What recording adds to a DataLoader's workers, in pairs of epochs within one recorded program.

python -m perfprobe -q -m benchmarks.overhead.workers [--data numpy|tensors|small] [--pairs 12] [--items 600]

Workers of every second epoch are not recorded, as with `--children off`; the order alternates. Each epoch
forks its workers anew, so starting and ending their recordings counts. CPU time is that of the workers by
the kernel's count, and that of the whole program, whose main process is recorded throughout. numpy: a
dataset of arrays. tensors: one that runs some 30 operators of torch a sample. small: 600 operators of a
microsecond a sample, the worst case.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.overhead.tables import interval
from perfprobe.collect.family import Family

SIDE, WORKERS, BATCH = 96, 2, 16
Item = tuple[torch.Tensor, int]


def arrays(at: int) -> torch.Tensor:
    """An image by numpy."""
    image = np.random.default_rng(at).random((SIDE, SIDE, 3), dtype=np.float32)
    for _ in range(4):
        image = np.flip(image, 1) * 0.9 + 0.1
        image = (image - image.mean((0, 1))) / (image.std((0, 1)) + 1e-5)
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))


def tensors(at: int) -> torch.Tensor:
    """An image by torch."""
    image = torch.rand(3, SIDE, SIDE, generator=torch.Generator().manual_seed(at))
    for _ in range(4):
        image = image.flip(-1) * 0.9 + 0.1
        image = (image - image.mean((1, 2), keepdim=True)) / (image.std((1, 2), keepdim=True) + 1e-5)
    return image


def small(_: int) -> torch.Tensor:
    """A sum of 600 operators."""
    value = torch.zeros(12)
    for _ in range(600):
        value = value + 1
    return value


DATA: dict[str, Callable[[int], torch.Tensor]] = {"numpy": arrays, "tensors": tensors, "small": small}


class Items(Dataset[Item]):
    """Samples that this function makes."""

    def __init__(self, make: Callable[[int], torch.Tensor], number: int) -> None:
        self._make, self._number = make, number

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, at: int) -> Item:
        return self._make(at), at % 10


class Epoch(NamedTuple):
    """What an epoch took, in seconds."""

    wall: float
    workers: float
    program: float


class Followed:
    """Switches the recording of children on and off. Without this only the first 16 would be recorded."""

    def __init__(self) -> None:
        self.on = True
        row_of, path_of = Family.new_row, Family.path_of_detail

        def new_row(family: Family) -> int | None:
            return row_of(family) if self.on else None

        def path_of_detail(family: Family) -> str | None:
            path = path_of(family)
            folder = Path(str(family.settings_now()["children"]))
            return path or str(folder / f"{time.monotonic_ns()}.perfprobe")

        Family.new_row = new_row  # type: ignore[method-assign, assignment]
        Family.path_of_detail = path_of_detail  # type: ignore[method-assign, assignment]


def spent() -> tuple[float, float]:
    """CPU time of ended children, and of this process."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return ended.ru_utime + ended.ru_stime, own.ru_utime + own.ru_stime


class Training:
    """A small model that waits for its loader."""

    def __init__(self, data: Items) -> None:
        self._data = data
        self._model = torch.nn.Linear(data[0][0].numel(), 10)
        self._optimizer = torch.optim.SGD(self._model.parameters(), 0.01)

    def epoch(self) -> Epoch:
        """Train on all samples."""
        begun_s, (workers_s, own_s) = time.monotonic(), spent()
        for batch, labels in DataLoader(self._data, batch_size=BATCH, num_workers=WORKERS):
            self._optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self._model(batch.flatten(1)), labels).backward()
            self._optimizer.step()
        wall_s, (now_s, own_now_s) = time.monotonic() - begun_s, spent()
        return Epoch(wall_s, now_s - workers_s, now_s - workers_s + own_now_s - own_s)


def measure(data: Items, pairs: int) -> list[tuple[Epoch, Epoch]]:
    """Pairs of an epoch with plain workers and one with recorded ones."""
    training, followed = Training(data), Followed()
    training.epoch()
    found = []
    for number in range(pairs):
        taken = {}
        for is_on in (False, True) if number % 2 else (True, False):
            followed.on = is_on
            taken[is_on] = training.epoch()
        found.append((taken[False], taken[True]))
    return found


def main() -> None:
    """Measure and print a line for each figure."""
    parser = argparse.ArgumentParser(
        prog="python -m perfprobe -q -m benchmarks.overhead.workers", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", choices=DATA, default="tensors")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--items", type=int, default=600)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(Items(DATA[args.data], args.items), args.pairs)
    for name in Epoch._fields:
        plain = statistics.median(getattr(off, name) for off, _ in found)
        ratios = [getattr(on, name) / getattr(off, name) for off, on in found]
        least, greatest = interval(ratios)
        middle = f"{statistics.median(ratios):.3f} ({least:.3f} to {greatest:.3f})"
        print(f"{args.data}: {name} {plain:.2f} s, with recorded workers times {middle}", flush=True)


if __name__ == "__main__":
    main()
