"""Python inside operators: custom Functions, hooks, handlers, operators in Python; TorchScript."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import library as torch_library
from torch import nn
from torch.autograd.function import once_differentiable
from torch.utils._python_dispatch import TorchDispatchMode

from tests.collect.attribution import Marks, first_line, linked_backward, named
from tests.collect.recorded import Row

at = Marks(__file__)

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit")


def placed(rows: list[Row], name: str) -> set[tuple[str, str]]:
    return {(row.phase, row.line) for row in named(rows, name)}


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.exp()  # forward with setup

    @staticmethod
    def setup_context(context: Any, inputs: Any, output: torch.Tensor) -> None:
        context.save_for_backward(output.neg())  # setup

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        (y,) = context.saved_tensors
        return gradient.sinh() * y  # once


def test_a_function_with_setup_context(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = Scale.apply(x)  # scaled
        torch.autograd.backward(y, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "aten::exp") == {("forward", at("forward with setup", "forward"))}
    assert placed(rows, "aten::neg") == {("forward", at("setup", "setup_context"))}
    (sinh,) = named(rows, "aten::sinh")
    assert (sinh.phase, sinh.line, sinh.forward_line) == (
        "backward",
        at("once", "backward"),
        at("scaled", "step"),
    )


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = context.saved_tensors
        return gradient * 3 * x.square()  # differentiable backward


def test_double_backward_of_a_function_has_the_line_of_its_backward(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        (gradient,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
        torch.autograd.backward(gradient, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "aten::square") == {("backward", at("differentiable backward", "backward"))}
    # Square was the forward call of this node.
    (node,) = named(rows, "PowBackward0")
    assert (node.phase, node.line) == ("backward", at("differentiable backward", "backward"))


def test_hooks_on_tensors_and_parameters(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def on_node(*_: Any) -> None:
        torch.ones(1).cos()  # on node

    def on_gradient(parameter: torch.Tensor) -> None:
        parameter.grad.sin_()  # on gradient

    x.register_post_accumulate_grad_hook(on_gradient)

    def step() -> None:
        y = x.exp()  # hooked
        y.grad_fn.register_prehook(on_node)
        torch.autograd.backward(y, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "aten::cos") == {("backward", at("on node", "on_node"))}
    assert placed(rows, "aten::sin_") == {("backward", at("on gradient", "on_gradient"))}


def test_hooks_on_saved_tensors(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.neg()  # packed

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.abs()  # unpacked

    def step() -> None:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x.exp()  # saves
        torch.autograd.backward(y, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "aten::neg") == {("forward", at("packed", "pack"))}
    assert placed(rows, "aten::abs") == {("backward", at("unpacked", "unpack"))}
    assert {row.forward_line for row in named(rows, "aten::abs")} == {at("saves", "step")}
    assert placed(rows, "aten::mul") == {("backward", at("saves", "step"))}


def test_hooks_of_modules(recorded: Any) -> None:
    layer = nn.Linear(3, 3)

    def before(*_: Any) -> None:
        torch.ones(1).sin()  # before forward

    def behind(*_: Any) -> None:
        torch.ones(1).cos()  # after forward

    layer.register_forward_pre_hook(before)
    layer.register_forward_hook(behind)
    rows = recorded(lambda: layer(torch.ones(1, 3)))
    assert placed(rows, "aten::sin") == {("forward", at("before forward", "before"))}
    assert placed(rows, "aten::cos") == {("forward", at("after forward", "behind"))}
    assert {row.module for row in named(rows, "aten::cos")} == {"Linear"}


class Wrapped(torch.Tensor):
    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapped:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [value.inner if isinstance(value, Wrapped) else value for value in args]
        made = operator(*plain, **(kwargs or {}))
        return Wrapped(made) if isinstance(made, torch.Tensor) else made


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(function, types, args, kwargs or {})


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operator(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", ["__torch_dispatch__", "__torch_function__"])
def test_tensor_subclasses_have_the_line_that_uses_them(recorded: Any, kind: str) -> None:
    made = Wrapped(torch.ones(3)) if "dispatch" in kind else torch.ones(3).as_subclass(Named)
    x = made.requires_grad_()

    def step() -> None:
        y = x.exp()  # subclass
        torch.autograd.backward(y, y.detach())

    rows = recorded(step)
    assert placed(rows, "aten::exp") == {("forward", at("subclass", "step"))}
    assert len(named(rows, "aten::exp")) == 1 + ("dispatch" in kind)
    assert {row.line for row in linked_backward(rows)} == {at("subclass", "step")}


def test_a_dispatch_mode_has_the_line_of_the_call(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        with Passing():
            y = x.exp()  # mode
            torch.autograd.backward(y, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "aten::exp") == {("forward", at("mode", "step"))}
    assert {row.line for row in linked_backward(rows)} == {at("mode", "step")}


@pytest.fixture(scope="module")
def library() -> Any:
    """Two operators registered from Python: one with its own backward, one composed of other operators."""

    @torch_library.custom_op("perfprobe_tests::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x.mul(2)  # kernel

    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.sinh()  # kernel backward

    doubled.register_autograd(backward)
    made = torch_library.Library("perfprobe_tests", "FRAGMENT")
    made.define("composed(Tensor x) -> Tensor")
    made.impl("composed", _composed, "CompositeImplicitAutograd")
    yield torch.ops.perfprobe_tests
    made._destroy()


def _composed(x: torch.Tensor) -> torch.Tensor:
    return x.cosh()  # composed


def test_operators_of_torch_library(recorded: Any, library: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = library.doubled(x)  # doubled
        z = library.composed(y)  # called
        torch.autograd.backward(z, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "perfprobe_tests::doubled") == {("forward", at("doubled", "step"))}
    assert placed(rows, "aten::mul") >= {("forward", at("kernel", "doubled"))}
    assert placed(rows, "perfprobe_tests::composed") == {("forward", at("called", "step"))}
    assert placed(rows, "aten::cosh") == {("forward", at("composed", "_composed"))}
    assert placed(rows, "CoshBackward0") == {("backward", at("composed", "_composed"))}
    sinhs = {(row.line, row.forward_line) for row in named(rows, "aten::sinh")}
    assert sinhs == {
        (at("kernel backward", "backward"), at("doubled", "step")),
        (at("composed", "_composed"), at("composed", "_composed")),
    }


def test_torch_func(recorded: Any) -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        return x.sin().sum()

    def step() -> None:
        torch.func.grad(loss)(torch.ones(3))
        torch.func.vmap(torch.func.grad(loss))(torch.ones(2, 3))
        torch.func.jacrev(loss)(torch.ones(3))

    rows = recorded(step)
    assert len(named(rows, "SinBackward0")) == 3
    assert placed(rows, "SinBackward0") == {("backward", first_line(loss))}
    assert placed(rows, "aten::sin") == {("forward", first_line(loss))}
    assert placed(rows, "aten::cos") == {("backward", first_line(loss))}


def test_derivatives_of_derivatives_by_torch_func(recorded: Any) -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        return x.sin().sum()

    rows = recorded(lambda: torch.func.grad(lambda x: torch.func.grad(loss)(x).sum())(torch.ones(3)))
    assert named(rows, "CosBackward0")
    assert {row.line for name in ("SinBackward0", "CosBackward0") for row in named(rows, name)} == {
        first_line(loss)
    }


def test_functions_mapped_without_a_gradient(recorded: Any) -> None:
    rows = recorded(lambda: torch.func.vmap(torch.sin)(torch.ones(2, 3)))
    assert {row.phase for row in named(rows, "aten::sin")} == {"other"}


def scripted(x: torch.Tensor) -> torch.Tensor:
    y = x.exp()
    return y.sin()


def forked(x: torch.Tensor) -> torch.Tensor:
    future = torch.jit.fork(torch.sin, x)
    return torch.jit.wait(future) + x.cosh()


def test_torchscript_has_the_line_of_its_call(recorded: Any) -> None:
    compiled, x = torch.jit.script(scripted), torch.ones(3, requires_grad=True)

    def step() -> None:
        for _ in range(3):
            x[1:]  # uses a number that no node has
            y = compiled(x)  # scripted
            torch.autograd.backward(y, torch.ones(3))

    rows = recorded(step)
    assert placed(rows, "aten::exp") == {("forward", at("scripted", "step"))}
    assert placed(rows, "aten::sin") == {("forward", at("scripted", "step"))}
    # In the end its executor differentiates whole graphs by a node that no operator made; no line is guessed.
    nodes = {row.line for row in rows if row.name.endswith("DifferentiableGraphBackward")}
    assert nodes == {""}
    assert placed(rows, "SinBackward0") == {("backward", at("scripted", "step"))}


def test_torchscript_on_threads_without_python_has_no_line(recorded: Any) -> None:
    compiled, x = torch.jit.script(forked), torch.ones(3, requires_grad=True)

    def step() -> None:
        y = compiled(x)  # forked
        torch.autograd.backward(y, torch.ones(3))

    rows = recorded(step)
    (mine,) = {row.thread for row in rows if row.phase == "backward"}
    # After the wait either thread may continue.
    for name, node in (("sin", "SinBackward0"), ("cosh", "CoshBackward0")):
        (made,) = named(rows, f"aten::{name}")
        line = at("forked", "step") if made.thread == mine else ""
        assert made.line == line
        assert {row.line for row in named(rows, node)} == {line}
    assert named(rows, "aten::sin")[0].thread != mine


def test_a_scripted_module_has_a_module_path(recorded: Any) -> None:
    inner = torch.jit.script(nn.Linear(3, 3))
    model = nn.Sequential(nn.Identity(), inner)
    rows = recorded(lambda: model(torch.ones(1, 3)).sum().backward())
    assert {row.module for row in named(rows, "aten::linear")} == {"1"}
    assert {row.module for row in named(rows, "AddmmBackward0")} == {"1"}
