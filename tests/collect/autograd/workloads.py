"""Small programs that use torch in ways that are easily recorded wrongly."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

KEPT: list[nn.Module] = []  # a module's name is only found if it lives until its window is read


def transformer() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
    KEPT.append(layer)
    optimizer = torch.optim.Adam(layer.parameters())
    for _ in range(3):
        loss = layer(torch.randn(4, 6, 32)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def convolutions() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    KEPT.append(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    for _ in range(2):
        model(torch.randn(2, 3, 12, 12)).sum().backward()
        optimizer.step()


def lstm() -> None:
    model = nn.LSTM(4, 5, num_layers=2)
    output, _ = model(torch.randn(6, 3, 4))
    (output[-1] / 2).sum().backward()


class Scaled(nn.Module):
    """A module whose lines use operator syntax instead of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, x: Any) -> Any:
        y = x @ self.weight
        y = y / 3
        y = torch.relu(y)
        z = -y
        first = z[0]
        return first * y


def checkpointed() -> None:
    model = Scaled()
    for _ in range(2):
        checkpoint(model, torch.randn(4, 4, requires_grad=True), use_reentrant=False).sum().backward()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * 2


def hooks() -> None:
    x = torch.randn(3, 3, requires_grad=True)
    y = Doubled.apply(x)
    y.register_hook(lambda gradient: gradient + 1)
    with torch.profiler.record_function("a range"):
        (y.cos() * x).sum().backward()


def indexing() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    x[torch.tensor([0, 2])] = 1.0
    x[1:, None, ..., 2].clone()
    torch.empty(2, 2, device="cpu", dtype=torch.int64).fill_(3)
    torch.einsum("ij,kj->ik", x, x)
    nn.functional.gelu(x, approximate="tanh")
    torch.cat([x, x], dim=1).split([1, 7], dim=1)
    torch.zeros((1,) * 40)
    x.to(torch.float64).clamp(min=0.5)
    torch.full((2,), 1 + 2j)


def threads() -> None:
    def work() -> None:
        for _ in range(20):
            torch.ones(3).add_(1)

    started = [threading.Thread(target=work) for _ in range(2)]
    for thread in started:
        thread.start()
    torch.ones(2).mul(2)
    for thread in started:
        thread.join()


def loader() -> None:
    for (batch,) in DataLoader(TensorDataset(torch.arange(6.0)), batch_size=2):
        batch.sum()


WORKLOADS: dict[str, Callable[[], None]] = {
    work.__name__: work
    for work in (transformer, convolutions, lstm, checkpointed, hooks, indexing, threads, loader)
}
