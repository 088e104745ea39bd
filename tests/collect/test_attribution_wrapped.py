"""Module paths if a library wraps the program's modules in modules of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.collect.recorded import Row

LIBRARY = """
import torch
from torch import nn

class Perturbed(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, t, x):
        return self.inner(t * 2, x)

class Reversed(Perturbed):
    def forward(self, t, x):
        return -self.inner(t, x)

class NeuralODE(Perturbed):
    pass

def solve(net, x, steps=2):
    net = Perturbed(Reversed(net))
    for _ in range(steps):
        x = net(torch.ones(1), x)
    return x

class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3))

    def forward(self, x):
        return self.layers(x * 2)

class Trainer:
    def __init__(self, model):
        self.model = model

    def train(self):
        return self.model(torch.ones(1, 3))
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed package."""
    place = tmp_path / "lib" / "site-packages"
    place.mkdir(parents=True)
    (place / "wrapping_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "wrapping_library", raising=False)
    return importlib.import_module("wrapping_library")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def forward(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x) + t


class Flow(nn.Module):
    """Is never called itself."""

    def __init__(self) -> None:
        super().__init__()
        self.drift = Net()
        self.base = nn.Linear(3, 3)


class OwnAround(nn.Sequential):
    """A class of the program, but its `forward` is torch's."""


def modules(rows: list[Row], *names: str) -> set[tuple[str, str]]:
    return {(row.name.removeprefix("aten::"), row.module) for row in rows if row.name in names}


OPERATORS = ("aten::mul", "aten::neg", "aten::linear", "aten::tanh", "AddmmBackward0")


@pytest.mark.parametrize("times", [1, 3, 300])
def test_repeatedly_made_library_wrappers_count_as_the_wrapped_module(
    recorded: Any, library: Any, times: int
) -> None:
    net = Net()

    def step() -> None:
        x = torch.ones(1, 3)
        for _ in range(times):
            x = library.solve(net, x)
        x.sum().backward()

    found = modules(recorded(step), *OPERATORS)
    assert found == {
        ("mul", "Net"),
        ("neg", "Net"),
        ("linear", "fc.0"),
        ("tanh", "fc.1"),
        ("AddmmBackward0", "fc.0"),
    }


def test_a_wrapped_module_has_its_path_in_the_whole_model(recorded: Any, library: Any) -> None:
    flow = Flow()

    def step() -> None:
        library.solve(flow.drift, torch.ones(1, 3))
        flow.base(torch.ones(1, 3))

    assert modules(recorded(step), "aten::mul", "aten::linear") == {
        ("mul", "drift"),
        ("linear", "drift.fc.0"),
        ("linear", "base"),
    }


def test_a_wrapper_around_an_already_called_module(recorded: Any, library: Any) -> None:
    net = Net()

    def step() -> None:
        net(torch.ones(1), torch.ones(1, 3))
        library.solve(net, torch.ones(1, 3))

    assert modules(recorded(step), "aten::mul", "aten::linear") == {("mul", "Net"), ("linear", "fc.0")}


def named_wrapper(library: Any) -> None:
    ode = library.NeuralODE(Net())
    ode(torch.ones(1), torch.ones(1, 3))


def both_named(library: Any) -> None:
    net = Net()
    ode = library.NeuralODE(net)
    ode(torch.ones(1), torch.ones(1, 3))


def wrapper_within_trainer(library: Any) -> None:
    net = Net()
    trainer = library.Trainer(library.NeuralODE(net))
    trainer.model(torch.ones(1), torch.ones(1, 3))


@pytest.mark.parametrize("call", [named_wrapper, both_named, wrapper_within_trainer])
def test_a_wrapper_that_the_program_knows_keeps_its_name(
    recorded: Any, library: Any, call: Callable[[Any], None]
) -> None:
    found = modules(recorded(lambda: call(library)), "aten::mul", "aten::linear")
    assert found == {("mul", "NeuralODE"), ("linear", "inner.fc.0")}


def model_of_library(library: Any) -> None:
    model = library.Whole()
    library.Trainer(model).train()


def model_that_only_the_library_has(library: Any) -> None:
    library.Trainer(library.Whole()).train()


def model_of_which_a_part_is_known_too(library: Any) -> None:
    model = library.Whole()
    last = model.layers[-1]
    library.Trainer(model).train()
    del last


@pytest.mark.parametrize(
    "call", [model_of_library, model_that_only_the_library_has, model_of_which_a_part_is_known_too]
)
def test_a_model_of_a_library_keeps_its_name(
    recorded: Any, library: Any, call: Callable[[Any], None]
) -> None:
    found = modules(recorded(lambda: call(library)), "aten::mul", "aten::linear")
    assert found == {("mul", "Whole"), ("linear", "layers.0")}


def test_the_programs_own_wrapper_keeps_its_name(recorded: Any) -> None:
    linear = nn.Linear(3, 3)
    rows = recorded(lambda: OwnAround(linear)(torch.ones(1, 3)))
    assert modules(rows, "aten::linear") == {("linear", "0")}
