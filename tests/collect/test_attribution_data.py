"""Everything that a DataLoader calls to make batches belongs to the phase data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from tests.collect.attribution import Marks, named

at = Marks(__file__)


class Scale(nn.Module):
    """A transform like torchvision's, with a weight that gets a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mul(self.weight)  # scaled


class Transforms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Scale(), nn.Tanh()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        return x


class Pictures(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.transform = Transforms()

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform(torch.full((3,), float(index)))  # made


class Stream(IterableDataset[torch.Tensor]):
    def __init__(self) -> None:
        self.transform = Transforms()

    def __iter__(self) -> Iterator[torch.Tensor]:
        for index in range(4):
            yield self.transform(torch.full((3,), float(index)))


@pytest.mark.parametrize("make", [Pictures, Stream])
def test_datasets_transforms_and_collation_are_data(recorded: Any, make: Any) -> None:
    model = nn.Sequential(nn.Linear(3, 2))
    loader = DataLoader(make(), batch_size=2)

    def train() -> None:
        for batch in loader:
            model(batch).sum().backward()

    rows = recorded(train)
    for name in ("aten::full", "aten::mul", "aten::tanh", "aten::stack"):
        assert {row.phase for row in named(rows, name)} - {"backward"} == {"data"}, name
    assert [row.module for row in named(rows, "aten::mul", "data")] == ["parts.0"] * 4
    assert {(row.phase, row.module) for row in named(rows, "aten::linear")} == {("forward", "0")}
    assert {row.phase for row in named(rows, "MulBackward0")} == {"backward"}
    assert {row.line for row in named(rows, "aten::mul", "data")} == {at("scaled", "forward")}


def test_the_same_transform_inside_the_model_is_forward(recorded: Any) -> None:
    model = nn.Sequential(Transforms(), nn.Linear(3, 2))
    loader = DataLoader(TensorDataset(torch.ones(4, 3)), batch_size=2, shuffle=True)
    rows = recorded(lambda: [model(x).sum().backward() for (x,) in loader])
    assert {row.phase for row in named(rows, "aten::mul")} - {"backward"} == {"forward"}
    assert {row.phase for row in named(rows, "aten::randperm")} == {"data"}
    assert {row.phase for row in named(rows, "aten::stack")} == {"data"}
