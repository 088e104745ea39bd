"""The line, module and phase of each operator. The answers are marked in this file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tests.collect.attribution import Marks, named

at = Marks(__file__)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.bmm(self.query(x), self.key(x).transpose(1, 2))  # bmm
        scores = scores / 2.828  # div
        return torch.bmm(scores.softmax(-1), x)  # values


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(2))
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)  # norm


def test_forward_and_backward_of_a_model(recorded: Any) -> None:
    model, x = Model(), torch.randn(2, 4, 8)

    def step() -> None:
        model(x).sum().backward()

    rows = recorded(step)
    assert {row.line for row in named(rows, "aten::bmm", "forward")} == {
        at("bmm", "forward"),
        at("values", "forward"),
    }
    backward = named(rows, "aten::bmm", "backward")
    # Two bmm a layer, each with two gradients, but those of the first layer need none for their input.
    assert sorted(row.line for row in backward) == [at("bmm", "forward")] * 4 + [at("values", "forward")] * 3
    assert {row.module for row in backward} == {"layers.0", "layers.1"}
    assert {row.line for row in named(rows, "aten::div")} == {at("div", "forward")}
    assert {row.phase for row in named(rows, "aten::div")} == {"forward", "backward"}
    assert {row.line for row in named(rows, "aten::native_layer_norm_backward")} == {at("norm", "forward")}
    assert {row.module for row in named(rows, "aten::native_layer_norm_backward")} == {"norm"}
    assert {row.module for row in named(rows, "aten::linear")} == {
        f"layers.{i}.{p}" for i in (0, 1) for p in ("query", "key")
    }


def test_a_sequentials_linears_are_distinguished(recorded: Any) -> None:
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(3)))
    rows = recorded(lambda: model(torch.ones(2, 4)).sum().backward())
    assert [row.module for row in named(rows, "aten::linear")] == ["0", "1", "2"]
    assert [row.module for row in named(rows, "AddmmBackward0")] == ["2", "1", "0"]


def test_a_module_first_called_alone_gets_its_full_path_later(recorded: Any) -> None:
    def both(part: nn.Module, model: Iterator[nn.Module]) -> None:
        with torch.no_grad():
            part(torch.ones(1, 4))  # the module that contains it is not visible
            next(model)(torch.ones(1, 4))

    def run() -> None:
        part = nn.Sequential(nn.Linear(4, 4))
        both(part, iter([nn.Sequential(part)]))

    assert [row.module for row in named(recorded(run), "aten::linear")] == ["Sequential.0", "0.0"]


def test_deleted_modules_are_not_mixed_up(recorded: Any) -> None:
    def many() -> None:
        with torch.no_grad():
            for _ in range(50):
                nn.Linear(4, 4)(torch.ones(1, 4))
                nn.Bilinear(2, 2, 2)(torch.ones(1, 2), torch.ones(1, 2))

    rows = recorded(many)
    assert {row.module for row in named(rows, "aten::linear")} == {"Linear"}
    assert {row.module for row in named(rows, "aten::bilinear")} == {"Bilinear"}


def test_accumulate_grad_has_a_name_and_no_guessed_line(recorded: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    rows = recorded(lambda: (weight * 2).sum().backward())
    (node,) = named(rows, "torch::autograd::AccumulateGrad")
    assert (node.phase, node.line) == ("backward", "")
    (engine,) = named(rows, "autograd::engine::evaluate_function: MulBackward0")
    assert "in <lambda>" in engine.line


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x.mul(2)  # custom forward

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.mul(2)  # custom backward


def test_a_custom_function_has_its_own_line_and_that_of_the_call(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = Twice.apply(x)  # custom call
        y.sum().backward()

    rows = recorded(step)
    (forward,) = named(rows, "aten::mul", "forward")
    assert forward.line == at("custom forward", "forward")
    (backward,) = named(rows, "aten::mul", "backward")
    assert (backward.line, backward.forward_line) == (
        at("custom backward", "backward"),
        at("custom call", "step"),
    )
    (node,) = named(rows, "TwiceBackward")
    assert node.line == at("custom call", "step")


def test_hooks_have_their_own_line(recorded: Any) -> None:
    linear = nn.Linear(3, 3)

    def module_hook(*_: Any) -> None:
        torch.ones(1).cos()  # module hook

    def tensor_hook(gradient: torch.Tensor) -> None:
        gradient.sin()  # tensor hook

    linear.register_full_backward_hook(module_hook)
    x = torch.ones(2, 3, requires_grad=True)

    def step() -> None:
        y = linear(x).exp()
        y.register_hook(tensor_hook)
        y.sum().backward()

    rows = recorded(step)
    assert [(row.line, row.phase) for row in named(rows, "aten::sin")] == [
        (at("tensor hook", "tensor_hook"), "backward")
    ]
    assert [(row.line, row.phase) for row in named(rows, "aten::cos")] == [
        (at("module hook", "module_hook"), "backward")
    ]


def test_double_backward_has_the_forward_line(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = x.exp().sum()  # twice differentiated
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
        gradient.sum().backward()  # second time

    rows = recorded(step)
    lines = {row.line for row in named(rows, "aten::mul", "backward")}
    assert lines == {at("twice differentiated", "step")}


def test_sequence_numbers_of_two_forward_threads_do_not_mix(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    results: dict[str, torch.Tensor] = {}

    def first() -> None:
        results["first"] = x.exp()  # first thread

    def second() -> None:
        results["second"] = x.sin()  # second thread

    def step() -> None:
        threads = [threading.Thread(target=run) for run in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (results["first"] + results["second"]).sum().backward()

    rows = recorded(step)
    assert {row.line for row in named(rows, "ExpBackward0")} == {at("first thread", "first")}
    assert {row.line for row in named(rows, "SinBackward0")} == {at("second thread", "second")}
    assert {row.line for row in named(rows, "aten::cos")} == {at("second thread", "second")}


def test_inference_in_a_module_is_forward(recorded: Any) -> None:
    with torch.inference_mode():
        rows = recorded(lambda: nn.Linear(2, 2)(torch.ones(1, 2)))
    assert {row.phase for row in named(rows, "aten::linear")} == {"forward"}


def test_nesting_is_correct_after_an_exception_in_an_operator(recorded: Any) -> None:
    def failing() -> None:
        with pytest.raises(RuntimeError):
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        torch.ones(2).exp()

    rows = recorded(failing)
    assert named(rows, "aten::mm")[0].depth == 0
    assert named(rows, "aten::exp")[0].depth == 0


def test_a_range_that_ends_on_another_thread_is_tolerated(recorded: Any) -> None:
    def crossing() -> None:
        wide = torch.profiler.record_function("crossing")
        wide.__enter__()
        thread = threading.Thread(target=wide.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        torch.ones(2).exp()

    rows = recorded(crossing)
    assert len(named(rows, "aten::exp")) == 1
    assert not named(rows, "crossing")


def test_ranges_have_the_line_that_began_them(recorded: Any) -> None:
    def step() -> None:
        with torch.profiler.record_function("first"):  # first range
            pass
        with torch.profiler.record_function("outer"):  # outer range
            torch.ones(2).sin()
            with torch.profiler.record_function("inner"):  # inner range
                torch.ones(2).exp()  # inside

    lines = {row.name: row.line for row in recorded(step)}
    for name in ("first", "outer", "inner"):
        assert lines[name] == at(f"{name} range", "step")
    assert lines["aten::exp"] == at("inside", "step")


def test_very_many_range_names_hide_no_operator(recorded: Any) -> None:
    def step() -> None:
        for i in range(66_000):
            with torch.profiler.record_function(f"step {i}"):
                pass
        torch.ones(2).exp()

    rows = recorded(step)
    assert len(rows) > 66_000
    assert len(named(rows, "aten::exp")) == 1
    assert len(named(rows, "(other)")) >= 66_000 - 65_536


def test_ranges_ended_elsewhere_do_not_stop_the_recording(recorded: Any) -> None:
    def step() -> None:
        ranges = [torch.profiler.record_function("lost") for _ in range(5000)]
        for lost in ranges:
            lost.__enter__()
        thread = threading.Thread(target=lambda: [lost.__exit__(None, None, None) for lost in ranges])
        thread.start()
        thread.join()
        torch.ones(2).exp()

    assert len(named(recorded(step), "aten::exp")) == 1


def test_other_operators_on_a_forward_line_are_not_forward(recorded: Any) -> None:
    weight = torch.randn(3, 3, requires_grad=True)

    def steps() -> None:
        for _ in range(2):
            loss = (torch.randn(3, 3) @ weight + torch.ones(3)).sum()
            loss.backward()

    rows = recorded(steps)
    assert {row.phase for row in named(rows, "aten::randn") + named(rows, "aten::ones")} == {"other"}
    assert {row.phase for row in named(rows, "aten::normal_")} == {"other"}  # inside randn
    in_forward = [row.name for row in rows if row.phase == "forward"]
    assert set(in_forward) >= {"aten::matmul", "aten::mm", "aten::add", "aten::sum"}  # mm is inside matmul
