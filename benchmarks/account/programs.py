"""Programs of parts that they time themselves. A part is a line of the program, its data, or collections.

The time of a part leaves out waiting for a processor, which the program reads from the scheduler at the
beginning and the end of each part.
"""

from __future__ import annotations

from typing import NamedTuple

_HEAD = """\
import gc, json, os, threading, time
import torch
from torch.utils.data import DataLoader

torch.set_num_threads(1)
gc.disable()
fd = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
spent = {}


class Part:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.begin = time.perf_counter_ns() - int(os.pread(fd, 64, 0).split()[1])

    def __exit__(self, *_):
        end = time.perf_counter_ns() - int(os.pread(fd, 64, 0).split()[1])
        spent[self.name] = spent.get(self.name, 0) + end - self.begin


class Data(torch.utils.data.Dataset):
    def __init__(self, sleep_ms, work):
        self.sleep_ms, self.work = sleep_ms, work

    def __len__(self):
        return 10_000

    def __getitem__(self, at):
        time.sleep(self.sleep_ms / 1000)
        return torch.tensor([float(sum(i * i for i in range(self.work)) % 7)])


weight = torch.nn.Parameter(torch.zeros(8))
square, other, made = (torch.randn(512, 512) for _ in range(3))
wide = torch.randn(2_000_000)
trained = torch.nn.Parameter(torch.randn(512, 512))
small = torch.zeros(8)
optimizer = torch.optim.SGD([weight, trained], lr=0.0)


def lists():
    return [[at] for at in range(100_000)]


gc.freeze()  # a collection looks at the lists only
junk = lists()
"""


class Made(NamedTuple):
    """A part of each step, or of each `every` of them. A second line of a part has its name and a colon."""

    name: str
    code: str
    every: int = 1


def python(name: str, rounds: int, every: int = 1) -> Made:
    """Python between operators."""
    return Made(name, f"sum(i * i for i in range({rounds}))", every)


def product(name: str, times: int, every: int = 1) -> Made:
    """One long operator a few times."""
    return Made(name, f"[torch.mm(square, other, out=made) for _ in range({times})]", every)


def short(name: str, times: int) -> Made:
    """Many short operators."""
    return Made(name, f"[small.add_(1) for _ in range({times})]")


def wide(name: str, times: int) -> Made:
    """An operator that is limited by memory."""
    return Made(name, f"[torch.exp(wide) for _ in range({times})]")


def asleep(name: str, milliseconds: float) -> Made:
    """Waiting for something that is not a processor."""
    return Made(name, f"time.sleep({milliseconds / 1000})")


STEPS = 200  # from 4 to 10 s on a quiet machine: enough samples for a share to 5 points
_LOAD = Made("data", "next(batches)")
_COLLECT = Made("collection", "gc.collect()")
_TRAIN = (Made("train", "out = square @ trained"), Made("train:", "out.backward(square)"))
_UPDATE = Made("update", "weight.sum().backward(); optimizer.step()")


class Timed(NamedTuple):
    """A program. data: milliseconds of sleep and rounds of Python for each item of its loader."""

    parts: tuple[Made, ...]
    data: tuple[float, int] = (0, 0)

    def text(self) -> str:
        """The program. It prints how many ns each part took, and at which line each is."""
        sleep_ms, rounds = self.data
        lines = [*_HEAD.splitlines(), f"batches = iter(DataLoader(Data({sleep_ms}, {rounds})))"]
        lines += [f"for step in range({STEPS}):", "    if step == 2:", "        spent.clear()"]
        at = {}
        for part in (_LOAD, *self.parts, _UPDATE):
            if part.every > 1:
                lines.append(f"    if step % {part.every} == 0:")
            indent = "        " if part.every > 1 else "    "
            name = part.name.rstrip(":")
            lines += [f"{indent}with Part({name!r}):", f"{indent}    {part.code}"]
            if name == part.name:
                at[name] = len(lines)
        lines.append(f'print("TRUTH", json.dumps({{"spent": spent, "at": {at!r}}}))')
        return "\n".join(lines) + "\n"


PROGRAMS = {
    "python and a product": Timed((python("python", 100_000), product("product", 4))),
    "three lines of Python": Timed((python("a", 50_000), python("b", 100_000), python("c", 150_000))),
    "three kinds of operators": Timed((product("product", 4), wide("exp", 4), short("short", 3000))),
    "every fifth step": Timed((python("python", 100_000), python("metric", 2_000_000, every=5))),
    "work in the loader": Timed((product("product", 3),), data=(0, 100_000)),
    "sleep in the loader": Timed((product("product", 3),), data=(10, 0)),
    "short operators": Timed((short("short", 6000), python("python", 50_000))),
    "forward and backward": Timed((*_TRAIN, python("python", 50_000))),
    "collections": Timed((_COLLECT, product("product", 3))),
    "asleep": Timed((asleep("asleep", 8), product("product", 3), python("python", 50_000))),
}
