"""Eight programs with differently written loops, and the numbers of steps counted by a reader."""

from __future__ import annotations

from typing import NamedTuple

COMMON = """\
import torch
from torch import nn
torch.set_num_threads(1)
F = nn.functional
class Net(nn.Module):
    def __init__(self, out=2):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.last = nn.Linear(16, out)
    def forward(self, x):
        return self.last(torch.relu(self.first(x)))
def batches(count):
    x, y = torch.randn(count * 4, 8), torch.zeros(count * 4, dtype=torch.long)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
"""

PLAIN = """\
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(7):  # loop
    x = torch.randn(4, 8)
    opt.zero_grad()
    loss = F.cross_entropy(net(x), torch.zeros(4, dtype=torch.long))
    loss.backward()
    opt.step()
    print(loss.item())
"""

ACCUMULATION = """\
def main():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for at, (x, y) in enumerate(batches(12)):  # loop
        (F.cross_entropy(net(x), y) / 4).backward()
        if at % 4 == 3:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
main()
"""

GAN = """\
def main():
    made, judge = Net(8), Net(1)
    of_made = torch.optim.SGD(made.parameters(), lr=0.1)
    of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    loss = nn.BCEWithLogitsLoss()
    for real, _ in batches(6):  # loop
        of_judge.zero_grad()
        loss(judge(real), torch.ones(4, 1)).backward()
        fake = made(torch.randn(4, 8))
        loss(judge(fake.detach()), torch.zeros(4, 1)).backward()
        of_judge.step()
        of_made.zero_grad()
        loss(judge(fake), torch.ones(4, 1)).backward()
        of_made.step()
main()
"""

INFERENCE = """\
def main():
    net = Net().eval()
    for i in range(9):  # loop
        x = torch.randn(4, 8)
        print(net(x).argmax(1).tolist())
main()
"""

EVALUATION = """\
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.clone()
def evaluate(net, loader):
    return sum((Same.apply(Same.apply(net(x))).argmax(1) == y).sum().item() for x, y in loader)
def main():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    train, held = batches(5), batches(3)
    for epoch in range(3):
        for x, y in train:  # loop
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.set_grad_enabled(epoch != 1):
            print(evaluate(net, held))
main()
"""

TRAINER = """\
class Trainer:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def training_step(self, batch):
        return F.cross_entropy(self.net(batch[0]), batch[1])
    def run_step(self, batch):
        loss = self.training_step(batch)
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        return loss.item()
    def fit(self, epochs):
        for _ in range(epochs):
            for batch in self.loader:  # loop
                self.run_step(batch)
Trainer(Net(), batches(5)).fit(2)
"""

GENERATOR = """\
import time
def feed():
    for x, y in batches(6):
        time.sleep(0.05)
        yield x + 1, y
def main():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in feed():  # loop
        F.cross_entropy(net(x), y).backward()
        opt.step()
        opt.zero_grad()
main()
"""

THREADS = """\
import threading
def train(count):
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches(count):  # loop
        F.cross_entropy(net(x), y).backward()
        opt.step()
        opt.zero_grad()
threads = [threading.Thread(target=train, args=(count,)) for count in (5, 8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class Counted(NamedTuple):
    """A program and hand counts: steps and evaluations of each kind, and the rest of each step."""

    text: str
    steps: dict[str, list[int]]
    micro_batches: int | None
    samples: int

    @property
    def program(self) -> str:
        """The whole program."""
        return COMMON + self.text

    @property
    def loop_line(self) -> int:
        """The line of the loop."""
        lines = self.program.splitlines()
        return next(at for at, line in enumerate(lines, 1) if line.endswith("# loop"))


LOOPS = {
    "plain": Counted(PLAIN, {"training": [7]}, 1, 4),
    "accumulation": Counted(ACCUMULATION, {"training": [3]}, 4, 16),
    "gan": Counted(GAN, {"training": [6]}, 1, 4),
    "inference": Counted(INFERENCE, {"inference": [9]}, None, 4),
    "evaluation": Counted(EVALUATION, {"training": [15], "evaluation": [3]}, 1, 4),
    "trainer": Counted(TRAINER, {"training": [10]}, 1, 4),
    "generator": Counted(GENERATOR, {"training": [6]}, 1, 4),
    "threads": Counted(THREADS, {"training": [5, 8]}, 1, 4),
}

# Each phase lasts for the time it prints. Most of it is sleep, so that the times also hold on a busy machine.
TIMED = """\
import json, sys, time
import torch
from torch import nn
torch.set_num_threads(1)
WORKERS, CONTEXT, STEPS = int(sys.argv[1]), sys.argv[2] or None, 3
took, steps = {}, []
def timed(phase, call, *words):
    begin = time.monotonic_ns()
    value = call(*words)
    took[phase] = took.get(phase, 0) + time.monotonic_ns() - begin
    return value
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * 2
    def __getitem__(self, at):
        time.sleep(0.2)
        return torch.ones(8), 0
class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        time.sleep(0.15)
        return grad
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 2)
    def forward(self, x):
        x = self.first(x)
        time.sleep(0.25)
        return self.last(Slow.apply(x))
class Slowly(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(0.1)
        return super().step(closure)
class File:
    def write(self, data):
        time.sleep(0.005)
        return len(data)
    def flush(self):
        pass
def work():
    time.sleep(0.12)
def main():
    net = Net()
    opt = Slowly(net.parameters(), lr=0.1)
    net(torch.ones(1, 8))
    options = {"num_workers": WORKERS, "multiprocessing_context": CONTEXT}
    loader = iter(torch.utils.data.DataLoader(Data(), 2, **options))
    while True:
        begin = time.monotonic_ns()
        batch = next(loader, None)
        if batch is None:
            break
        took["data"] = took.get("data", 0) + time.monotonic_ns() - begin
        x, y = batch
        timed("other", work)
        loss = timed("forward", net, x).sum()
        timed("zero_grad", opt.zero_grad)
        timed("backward", loss.backward)
        timed("optimizer", opt.step)
        timed("saving", torch.save, net.state_dict(), File())
        steps.append(time.monotonic_ns() - begin)
    print(json.dumps({"took": took, "steps": steps}))
if __name__ == "__main__":
    main()
"""
