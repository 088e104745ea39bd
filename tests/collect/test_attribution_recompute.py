"""Forward code that runs again in backward has its own phase, line and module."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

from perfprobe.merge import link
from perfprobe.report.render.json import document
from perfprobe.tables import storage
from perfprobe.tables.findings import Hotspots
from tests.collect.attribution import Marks, linked_backward, named
from tests.collect.recorded import Row, record
from tests.found import find, hotspots

at = Marks(__file__)


def part(value: torch.Tensor) -> torch.Tensor:
    value = value.tanh()  # tanh
    return value.exp()  # exp


def phases(rows: list[Row], name: str) -> list[str]:
    return [row.phase for row in named(rows, name)]


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_recomputed_on_its_own_lines(recorded: Any, reentrant: bool) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = checkpoint(part, x, use_reentrant=reentrant)  # checkpoint
        y.sum().backward()

    rows = recorded(step)
    for name in ("tanh", "exp"):
        found = named(rows, f"aten::{name}")
        assert [(row.phase, row.line) for row in found] == [
            ("forward", at(name, "part")),
            ("recompute", at(name, "part")),
        ]
        # Without re-entry backward needs what exp saved; with re-entry it needs the whole call.
        asked = at("checkpoint", "step") if reentrant else at("exp", "part")
        assert [row.forward_line for row in found] == ["", asked]
    for node, name in (("TanhBackward0", "tanh"), ("ExpBackward0", "exp")):
        assert [(row.phase, row.line) for row in named(rows, node)] == [("backward", at(name, "part"))]
    assert {row.line for row in named(rows, "aten::tanh_backward")} == {at("tanh", "part")}
    assert {row.phase for row in named(rows, "aten::tanh_backward")} == {"backward"}
    assert all(row.line for row in linked_backward(rows))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("reentrant", [False, True])
def test_nested_checkpoints_are_recomputation(recorded: Any, reentrant: bool) -> None:
    x = torch.ones(3, requires_grad=True)

    def outer(value: torch.Tensor) -> torch.Tensor:
        inner = checkpoint(part, value.sin(), use_reentrant=reentrant)
        return inner.cosh()

    def step() -> None:
        checkpoint(outer, x, use_reentrant=reentrant).sum().backward()

    rows = recorded(step)
    assert phases(rows, "aten::sin") == ["forward", "recompute"]
    # sinh is the gradient of cosh.
    assert phases(rows, "aten::sinh") == ["backward"]
    # The second run of the outer part also runs the inner part, whose own backward runs it a third time.
    assert phases(rows, "aten::tanh") == ["forward", "recompute", "recompute"]
    assert {row.line for row in named(rows, "aten::tanh")} == {at("tanh", "part")}
    assert phases(rows, "TanhBackward0") == ["backward"]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_recomputation_on_a_thread_of_the_engine(recorded: Any) -> None:
    """torch uses another thread when 60 backward calls are nested, and always for a GPU."""
    x = torch.ones(3, requires_grad=True)

    def nested(value: torch.Tensor, levels: int) -> torch.Tensor:
        if levels == 0:
            return part(value)
        return checkpoint(nested, value.neg(), levels - 1, use_reentrant=True)

    rows = recorded(lambda: nested(x, 64).sum().backward())
    tanh = named(rows, "aten::tanh")
    assert sorted(row.phase for row in tanh) == ["forward"] + ["recompute"] * 64
    assert len({row.thread for row in tanh}) == 2
    (node,) = named(rows, "TanhBackward0")
    assert (node.line, node.thread == tanh[0].thread) == (at("tanh", "part"), False)
    assert all(row.line for row in linked_backward(rows))


@pytest.mark.parametrize("stops", [False, True])
def test_early_stop_limits_recomputation(recorded: Any, stops: bool) -> None:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        with set_checkpoint_early_stop(stops):
            checkpoint(lambda value: value.tanh().neg(), x, use_reentrant=False).sum().backward()

    rows = recorded(step)
    assert phases(rows, "aten::tanh") == ["forward", "recompute"]
    # neg saves nothing, so it only runs again if recomputation does not stop after tanh. It is its own
    # gradient.
    assert sorted(phases(rows, "aten::neg")) == ["backward", "forward"] + ["recompute"] * (not stops)


def layers() -> nn.Sequential:
    return nn.Sequential(*(nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(3)))


def in_model(run: Callable[[nn.Sequential, torch.Tensor], torch.Tensor]) -> nn.Module:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return run(self.layers, x)

    return Model()


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_sequential_keeps_the_modules(recorded: Any, reentrant: bool) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    model = in_model(lambda parts, x: checkpoint_sequential(parts, 3, x, use_reentrant=reentrant))
    rows = recorded(lambda: model(x).sum().backward())
    linears = [(row.phase, row.module) for row in named(rows, "aten::linear")]
    # The last part is not checkpointed.
    again = [("recompute", f"layers.{i}.0") for i in (1, 0)]
    assert linears == [("forward", f"layers.{i}.0") for i in (0, 1, 2)] + again
    assert [row.module for row in named(rows, "AddmmBackward0")] == [f"layers.{i}.0" for i in (2, 1, 0)]
    assert set(phases(rows, "AddmmBackward0")) == {"backward"}


def test_selective_checkpoints_recompute_only_what_was_not_saved(recorded: Any) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    kept = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])

    def run(value: torch.Tensor) -> torch.Tensor:
        product = value @ value  # kept
        return product.sigmoid().exp()  # not kept

    rows = recorded(lambda: checkpoint(run, x, use_reentrant=False, context_fn=kept).sum().backward())
    assert set(phases(rows, "aten::sigmoid")) == {"forward", "recompute"}
    assert {row.line for row in named(rows, "aten::sigmoid")} == {at("not kept", "run")}
    # matmul is called again but answered from saved results, so no mm runs inside it.
    again = [
        place for place, row in enumerate(rows) if row.name == "aten::matmul" and row.phase == "recompute"
    ]
    assert [rows[place].line for place in again] == [at("kept", "run")]
    assert {row.line for row in named(rows, "aten::mm", "backward")} == {at("kept", "run")}
    assert all(row.line for row in linked_backward(rows))


class ByHand(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor, module: nn.Module) -> torch.Tensor:
        context.save_for_backward(x)
        context.module = module
        return module(x)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, None]:
        (x,) = context.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()  # detached
            y = context.module(x)  # again
        torch.autograd.backward(y, gradient)
        return x.grad, None


def test_a_module_called_in_a_custom_backward_is_recomputation(recorded: Any) -> None:
    module, x = nn.Sequential(nn.Linear(3, 3)), torch.ones(2, 3, requires_grad=True)

    def step() -> None:
        y = ByHand.apply(x, module)  # by hand
        y.sum().backward()

    rows = recorded(step)
    forward, again = named(rows, "aten::linear")
    assert (forward.phase, forward.module) == ("forward", "0")
    assert (again.phase, again.module, again.line) == ("recompute", "0", at("again", "backward"))
    assert again.forward_line == at("by hand", "step")
    assert {(row.phase, row.line) for row in named(rows, "aten::mm")} == {
        ("backward", at("again", "backward"))
    }
    own = [row for row in named(rows, "aten::detach") if row.line == at("detached", "backward")]
    assert {row.phase for row in own} == {"backward"}


def test_backward_within_a_checkpoint_is_backward(recorded: Any) -> None:
    x = torch.ones(3, requires_grad=True)

    def penalty(value: torch.Tensor) -> torch.Tensor:
        y = value.exp().sum()
        (gradient,) = torch.autograd.grad(y, value, create_graph=True)
        return gradient.tanh()

    rows = recorded(lambda: checkpoint(penalty, x, use_reentrant=False).sum().backward())
    assert phases(rows, "aten::tanh") == ["forward", "recompute"]
    # The gradient in forward needs what exp would have saved, so exp runs again there too.
    assert phases(rows, "aten::exp") == ["forward", "recompute", "recompute"]
    assert set(phases(rows, "SumBackward0")) == {"backward"}


def test_recomputation_is_excluded_from_backward_totals(tmp_path: Path) -> None:
    x, path = torch.ones(3, requires_grad=True), tmp_path / "run.perfprobe"
    rows = record(path, lambda: checkpoint(part, x, use_reentrant=False).sum().backward())
    trace = link(storage.read(path))
    totals = hotspots(trace).totals
    assert totals.backward_ns == sum(row.self_ns for row in rows if row.phase == "backward")
    assert totals.linked_ns == sum(row.self_ns for row in linked_backward(rows))
    found = document(find(trace, Hotspots))["tables"]["hotspots"]
    assert {(row["operator"], row["phase"]) for row in found} >= {("aten::tanh", "recompute")}
