"""The module of AccumulateGrad is the one that holds the parameter, according to the model itself."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.collect.attribution import ACCUMULATE
from tests.collect.recorded import Row

Recorded = Callable[[Callable[[], Any]], list[Row]]


def added(rows: list[Row]) -> list[tuple[str, str]]:
    """Shape and module of each accumulated gradient, in order."""
    nodes = [row for row in rows if row.name == f"torch::autograd::{ACCUMULATE}"]
    assert all(row.phase == "backward" and not row.line for row in nodes)
    return [(row.signature, row.module) for row in nodes]


def held(model: nn.Module, path: str = "") -> set[tuple[str, str]]:
    """The same for each parameter by the model's own names; a root is named by its type."""
    root = type(model).__name__
    return {
        (f"f32[{','.join(map(str, parameter.shape))}]", path + (name.rpartition(".")[0] or root))
        for name, parameter in model.named_parameters()
    }


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 7))
        self.norm = nn.LayerNorm(7)
        self.scale = nn.Parameter(torch.ones(7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.body(x)) * self.scale


def test_the_module_that_holds_the_parameter(recorded: Recorded) -> None:
    net = Net()
    rows = recorded(lambda: [net(torch.ones(2, 3)).sum().backward() for _ in range(3)])
    found = added(rows)
    assert set(found) == held(net)
    assert len(found) == 3 * len(list(net.parameters()))
    engine = [row for row in rows if row.name.endswith(f"evaluate_function: torch::autograd::{ACCUMULATE}")]
    assert {row.module for row in engine} == {module for _, module in held(net)}
    inside = [row for row in rows if row.parent >= 0 and rows[row.parent].name.endswith(f"::{ACCUMULATE}")]
    assert all(row.module == rows[row.parent].module for row in inside)


def test_a_shared_parameter_belongs_to_the_first_module(recorded: Recorded) -> None:
    net = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 6, bias=False))
    net[1].weight = net[0].weight
    rows = recorded(lambda: net(torch.tensor([1, 2])).sum().backward())
    assert added(rows) == [("f32[6,4]", "0")]


def test_a_parameter_outside_modules_has_no_module(recorded: Recorded) -> None:
    leaf, net = torch.ones(2, 3, requires_grad=True), Net()
    rows = recorded(lambda: [net(leaf * 2).sum().backward() for _ in range(2)])
    assert ("f32[2,3]", "") in added(rows)
    assert set(added(rows)) == held(net) | {("f32[2,3]", "")}


class Left(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(3, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.left(x)


class Right(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.right = nn.Linear(3, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.right(x)


def test_successive_models_at_the_same_addresses(recorded: Recorded) -> None:
    def run() -> None:
        for _ in range(10):
            for kind in (Left, Right):
                model = kind()
                model(torch.ones(2, 3)).sum().backward()
                del model
                gc.collect()

    gc.freeze()  # what lives already, torch above all, need not be looked at twenty times
    try:
        rows = recorded(run)
    finally:
        gc.unfreeze()
    assert [module.rpartition(".")[2] for _, module in added(rows)] == ["left", "right"] * 10


def test_a_replaced_parameter(recorded: Recorded) -> None:
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))

    def run() -> None:
        net(torch.ones(2, 3)).sum().backward()
        net[0].weight, net[1].weight = net[1].weight, net[0].weight
        net(torch.ones(2, 3)).sum().backward()

    rows = recorded(run)
    assert sorted(added(rows)[:2]) == [("f32[3,3]", "0"), ("f32[3,3]", "1")]


def test_swapping_tensors_still_works(recorded: Recorded) -> None:
    """torch refuses it for tensors that have weak references."""
    net = nn.Linear(3, 3, bias=False)
    other = nn.Parameter(torch.zeros(3, 3))

    def run() -> None:
        net(torch.ones(2, 3)).sum().backward()
        net.weight.grad = None
        torch.utils.swap_tensors(net.weight, other)

    recorded(run)
    assert net.weight.sum().item() == 0
