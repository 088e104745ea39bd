"""Backward operators of every kind are on the line of their forward call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn import functional

from perfprobe.tables.scopes import BACKWARD_FUNCTION
from tests.collect.attribution import ACCUMULATE, Marks, first_line, linked_backward, named

at = Marks(__file__)


def index(x: torch.Tensor) -> torch.Tensor:
    return x[:, torch.tensor([0, 1, 1])]


def index_put(x: torch.Tensor) -> torch.Tensor:
    return x.index_put((torch.tensor([0]),), torch.tensor(1.0), accumulate=True)


def write_into_a_view(x: torch.Tensor) -> torch.Tensor:
    return (y := x.clone(), y[0].mul_(2), y[:, 0].exp_().view(2))[0]


def write_by_mask(x: torch.Tensor) -> torch.Tensor:
    return (y := x.clone(), y.__setitem__(x > 0, 0.0), y.__setitem__((0, 1), x[0, 0]))[0]


def view_of_a_changed_base(x: torch.Tensor) -> torch.Tensor:
    return (y := x.clone(), y[0], y.mul_(2))[1].sin()


def in_place(x: torch.Tensor) -> torch.Tensor:
    return x.clone().mul_(x).add_(x).sigmoid_()


def lists(x: torch.Tensor) -> torch.Tensor:
    return torch.cat(torch._foreach_add(torch._foreach_mul([x, x, x], 2.0), 1.0))


def many_outputs(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x.unbind(0)[0], x.split(1)[1][0], x.topk(2).values[0].sum() * x[0], x.max(0)[0]])


def attention(x: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(*(3 * [x.view(1, 2, 2, 4)]))


def cross_entropy(x: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=0.1)


def batch_norm(x: torch.Tensor) -> torch.Tensor:
    return functional.batch_norm(x, None, None, training=True)


def convolution(x: torch.Tensor) -> torch.Tensor:
    return functional.max_pool2d(functional.conv2d(x.view(1, 1, 4, 4), torch.ones(2, 1, 2, 2)), 2)


def complex_numbers(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.fft(torch.view_as_complex(x.view(2, 4, 2))).abs()


def einsum(x: torch.Tensor) -> torch.Tensor:
    return torch.einsum("ij,kj->ik", x, x).norm()


def linear_algebra(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.solve(x[:, :2] @ x[:, :2].T + 9 * torch.eye(2), x)


def autocast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16): return (x @ x.T).exp()  # fmt: skip # noqa: E701


def saved_elsewhere(x: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.save_on_cpu(): return x.exp()  # fmt: skip # noqa: E701


KINDS = [
    index,
    index_put,
    write_into_a_view,
    write_by_mask,
    view_of_a_changed_base,
    in_place,
    lists,
    many_outputs,
    attention,
    cross_entropy,
    batch_norm,
    convolution,
    complex_numbers,
    einsum,
    linear_algebra,
    autocast,
    saved_elsewhere,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_all_backward_operators_are_on_the_forward_line(
    recorded: Any, kind: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = torch.rand(2, 8, requires_grad=True)

    def step() -> None:
        y = kind(x)
        torch.autograd.backward(y, torch.ones_like(y))

    found = linked_backward(recorded(step))
    assert found
    assert {row.line for row in found} == {first_line(kind)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_neighbouring_lines_have_their_own_nodes(
    recorded: Any, kind: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = torch.rand(2, 8, requires_grad=True)

    def step() -> None:
        before = x.cos()  # before
        y = kind(before)
        z = y.abs().sinh()  # after
        torch.autograd.backward(z, torch.ones_like(z))

    rows = [row for row in recorded(step) if row.scope == BACKWARD_FUNCTION and ACCUMULATE not in row.name]
    made = {line: {row.name for row in rows if row.line == line} for line in {row.line for row in rows}}
    assert made.pop(at("before", "step")) == {"CosBackward0"}
    assert made.pop(at("after", "step")) == {"AbsBackward0", "SinhBackward0"}
    assert set(made) == {first_line(kind)}


def test_a_sparse_gradient(recorded: Any) -> None:
    table = nn.Embedding(5, 3, sparse=True)

    def step() -> None:
        rows = table(torch.tensor([1, 2, 1]))  # looked up
        rows.sum().backward()

    rows = recorded(step)
    assert [row.line for row in named(rows, "aten::embedding_sparse_backward")] == [at("looked up", "step")]
    assert all(row.line for row in linked_backward(rows))


def test_two_backward_calls_and_accumulated_gradients(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = x.exp()  # kept
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        with torch.no_grad():
            x.sin()  # no gradient
        x.cos().sum().backward()

    rows = recorded(step)
    assert [row.line for row in named(rows, "ExpBackward0")] == [at("kept", "step")] * 2
    assert len(named(rows, "torch::autograd::AccumulateGrad")) == 3
    assert [
        (row.phase, row.line) for row in named(rows, "aten::sin") if row.line == at("no gradient", "step")
    ] == [("other", at("no gradient", "step"))]


def test_derivatives_of_derivatives(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = x.sin()  # thrice differentiated
        for _ in range(2):
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        y.sum().backward()

    rows = recorded(step)
    # sin, -sin and so on, and their factors: all on one line, except the sums.
    nodes = [row for row in rows if row.scope == 1 and row.name[:3] in ("Sin", "Cos", "Neg", "Mul")]
    assert len(nodes) >= 4
    assert {row.line for row in nodes} == {at("thrice differentiated", "step")}


def test_the_jacobian_of_a_function(recorded: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.sin()  # jacobian

    rows = recorded(lambda: torch.autograd.functional.jacobian(function, torch.ones(2)))
    assert {row.line for row in named(rows, "SinBackward0")} == {at("jacobian", "function")}
    assert {(row.line, row.phase) for row in named(rows, "aten::cos")} == {
        (at("jacobian", "function"), "backward")
    }


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_forward_mode_has_the_line_of_its_operator(recorded: Any) -> None:
    def step() -> None:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
            dual.sin()  # dual

    rows = recorded(step)
    assert {row.line for row in named(rows, "aten::cos")} == {at("dual", "step")}
    assert "backward" not in {row.phase for row in rows}


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_checks_of_anomaly_mode_are_on_the_forward_line(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = x.exp()  # checked
        torch.autograd.backward(y, torch.ones(3))

    with torch.autograd.set_detect_anomaly(True, check_nan=True):
        rows = recorded(step)
    assert {(row.line, row.phase) for row in named(rows, "aten::isnan")} == {
        (at("checked", "step"), "backward")
    }


def test_threads_that_each_run_backward(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def one() -> None:
        y = x.exp()  # first of two
        y.sum().backward()

    def two() -> None:
        y = x.sin()  # second of two
        y.sum().backward()

    rows = recorded(lambda: _in_threads(one, two))
    assert {row.line for row in named(rows, "ExpBackward0")} == {at("first of two", "one")}
    assert {row.line for row in named(rows, "SinBackward0")} == {at("second of two", "two")}
    assert len({row.thread for row in linked_backward(rows)}) == 2
    assert all(row.line for row in linked_backward(rows))


def test_a_graph_of_one_thread_run_backward_by_another(recorded: Any) -> None:
    x, made = torch.ones(3, requires_grad=True), []

    def build() -> None:
        made.append(x.exp())  # built

    def run() -> None:
        torch.autograd.backward(made[0], torch.ones(3))

    def both() -> None:
        _in_threads(build)
        x.sin()  # shifts the numbers of this thread
        _in_threads(run)

    rows = recorded(both)
    assert {row.line for row in linked_backward(rows)} == {at("built", "build")}


def _in_threads(*runs: Callable[[], None]) -> None:
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
