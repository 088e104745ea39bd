"""Twelve programs, equal except for the bottleneck planted in each, and what SLOW must say about it.

A step of the plain program takes a few milliseconds; the planted bottleneck takes WAIT_S of it. It sleeps if
only its place matters, and computes if the work matters.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STEPS = 8
WAIT_S = 0.08
HEAD = f"""
import gc, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
WAIT_S = {WAIT_S}
torch.set_num_threads(1)
def work(seconds):
    end = time.perf_counter() + seconds
    x = torch.ones(64, 64)
    while time.perf_counter() < end:
        x = torch.tanh(x)
    return x
"""
DATA = f"""
class Data(Dataset):
    def __len__(self): return {STEPS * 4}
    def __getitem__(self, at): return torch.full((64,), float(at)), at % 8
def collate(items):
    return torch.stack([x for x, _ in items]), torch.tensor([y for _, y in items])
"""
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 8)
    def forward(self, x): return self.second(torch.relu(self.first(x)))
net = Net()
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
"""
LOOP = """
def train():
    for x, y in DataLoader(Data(), batch_size=4, collate_fn=collate):
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
train()
"""


class Planted(NamedTuple):
    """A program, the text of its SLOW line, and the text of the source line that is named ("" for none)."""

    text: str
    slow: str
    line: str = ""

    def write(self, folder: Path) -> list[str]:
        """Writes the program and what it imports. Returns the words to run it with."""
        (folder / "train.py").write_text(self.text)
        (folder / "heavy.py").write_text("import time\ntime.sleep(2)\n")
        return ["train.py", "saved.pt"]


def _program(head: str = HEAD, data: str = DATA, model: str = MODEL, loop: str = LOOP) -> str:
    return head + data + model + loop


def _with(part: str, old: str, new: str) -> str:
    assert old in part
    return part.replace(old, new)


BACKWARD = """
class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.clone()
    @staticmethod
    def backward(ctx, grad):
        work(WAIT_S)  # planted
        return grad
"""
GARBAGE = """
class Node:
    def __init__(self, other): self.other, self.own = other, self
kept = [Node(None) for _ in range(200_000)]
gc.disable()
"""
PLANTED = {
    "loader": Planted(
        _program(data=_with(DATA, "return torch.full", "time.sleep(WAIT_S / 4); return torch.full")),
        "data loading",
        "time.sleep(WAIT_S / 4)",
    ),
    "transform": Planted(
        _program(
            data=_with(DATA, "    return torch.stack", "    work(WAIT_S)  # planted\n    return torch.stack")
        ),
        "data loading",
        "torch.tanh",
    ),
    "copy": Planted(
        _program(
            data=_with(DATA, "torch.full((64,)", "torch.full((1_000_000,)"),
            loop=_with(
                LOOP,
                "        optimizer.zero_grad()",
                "        for _ in range(12): z = x.to(torch.float64)  # planted\n"
                "        x = x[:, :64]\n        optimizer.zero_grad()",
            ),
        ),
        "copies",
        "# planted",
    ),
    "forward": Planted(
        _program(
            model=_with(
                MODEL, "def forward(self, x): ", "def forward(self, x):\n        work(WAIT_S)\n        "
            )
        ),
        "forward",
        "torch.tanh",
    ),
    "backward": Planted(
        _program(
            head=HEAD + BACKWARD, model=_with(MODEL, "torch.relu(self.first(x))", "Slow.apply(self.first(x))")
        ),
        "backward",
        "torch.tanh",
    ),
    "optimizer": Planted(
        _program(
            model=_with(
                MODEL,
                "optimizer = torch.optim.SGD(",
                "class Heavy(torch.optim.SGD):\n    def step(self, closure=None):\n"
                "        work(WAIT_S)\n        return super().step(closure)\noptimizer = Heavy(",
            )
        ),
        "optimizer",
    ),
    "logging": Planted(
        _program(
            loop=_with(
                LOOP,
                "        optimizer.step()",
                "        optimizer.step()\n"
                "        value = loss.item()\n"
                "        for row in range(4000): log.warning('loss %.3f', value)  # planted",
            ),
            head=HEAD + "import logging\nlog = logging.getLogger('train')\n",
        ),
        "logging",
        "# planted",
    ),
    "saving": Planted(
        _program(
            data=DATA + "big = torch.ones(8_000_000)\n",
            loop=_with(
                LOOP,
                "        optimizer.step()",
                "        optimizer.step()\n        torch.save(big, sys.argv[1])  # planted",
            ),
        ),
        "saving",
        "# planted",
    ),
    "collection": Planted(
        _program(
            data=DATA + GARBAGE,
            loop=_with(
                LOOP, "        optimizer.step()", "        optimizer.step()\n        gc.collect()  # planted"
            ),
        ),
        "garbage collection",
        "# planted",
    ),
    "import": Planted(
        _program(head=_with(HEAD, "import torch\n", "import torch\nimport heavy\n")), "import of heavy"
    ),
    "oversubscription": Planted(
        _program(
            head=_with(HEAD, "torch.set_num_threads(1)", "torch.set_num_threads(32)"),
            model=_with(MODEL, "def forward(self, x): ", "def forward(self, x):\n        many()\n        ")
            + "def many():\n    x = torch.ones(1_000_000)\n    for _ in range(20): x = torch.exp(x)\n",
        ),
        "oversubscription",
    ),
    "nothing": Planted(
        _program(
            # More steps: with few samples nobody knows which line waited for a processor.
            data=_with(DATA, f"return {STEPS * 4}", f"return {STEPS * 40}"),
            model=_with(MODEL, "self.second(torch.relu(self.first(x)))", "self.all(x)").replace(
                "        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 8)",
                "        self.a, self.b, self.c, self.d = [nn.Linear(64, 64) for _ in range(4)]\n"
                "        self.e, self.f, self.g, self.h = [nn.Linear(64, 64) for _ in range(4)]\n"
                "        self.last = nn.Linear(64, 8)\n"
                "    def all(self, x):\n"
                "        x = x.repeat(64, 1)  # fewer are short operators on a slow machine\n"
                "        for _ in range(10):\n"
                + "".join(f"            x = torch.relu(self.{name}(x))\n" for name in "abcdefgh")
                + "        return self.last(x[:4])\n",
            ),
        ),
        "nothing stands out",
    ),
}
