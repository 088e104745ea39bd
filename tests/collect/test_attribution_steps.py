"""Operators of a step around forward and backward: optimizers, schedules, clipping, scaling, autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.collect.attribution import Marks, linked_backward, named
from tests.collect.recorded import Row

at = Marks(__file__)

OPTIMIZERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], dict[str, Any], str]] = {
    "Adam single": (torch.optim.Adam, {"foreach": False}, "aten::addcdiv_"),
    "Adam foreach": (torch.optim.Adam, {"foreach": True}, "aten::_foreach_addcdiv_"),
    "Adam fused": (torch.optim.Adam, {"fused": True}, "aten::_fused_adam_"),
    "AdamW fused amsgrad": (torch.optim.AdamW, {"fused": True, "amsgrad": True}, "aten::_fused_adamw_"),
    "SGD fused": (torch.optim.SGD, {"fused": True, "momentum": 0.9}, "aten::_fused_sgd_"),
    "SGD foreach": (torch.optim.SGD, {"foreach": True}, "aten::_foreach_add_"),
    "Adagrad fused": (torch.optim.Adagrad, {"fused": True}, "aten::_fused_adagrad_"),
    "RMSprop foreach": (torch.optim.RMSprop, {"foreach": True}, "aten::_foreach_addcdiv_"),
    "Adafactor": (torch.optim.Adafactor, {}, "aten::lerp_"),
}


def lines(rows: list[Row], name: str) -> set[tuple[str, str]]:
    return {(row.phase, row.line) for row in named(rows, name)}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_optimizers_have_the_line_of_their_step(recorded: Any, kind: str) -> None:
    make, options, operator = OPTIMIZERS[kind]
    layer = nn.Linear(3, 3)
    optimizer = make(layer.parameters(), lr=0.1, **options)
    layer(torch.ones(1, 3)).sum().backward()

    def step() -> None:
        with torch.no_grad():
            optimizer.step()  # optimizer

    rows = recorded(step)
    assert lines(rows, operator) == {("optimizer", at("optimizer", "step"))}
    assert {(row.phase, row.line, row.module) for row in rows} == {("optimizer", at("optimizer", "step"), "")}


def test_a_differentiable_step_is_a_forward_call(recorded: Any) -> None:
    start = torch.ones(3, requires_grad=True)
    weight = start.clone()
    optimizer = torch.optim.SGD([weight], lr=0.1, differentiable=True)

    def step() -> None:
        weight.grad = start.sin()
        optimizer.step()  # differentiable
        weight.sum().backward()

    rows = recorded(step)
    updates = [row for row in named(rows, "aten::add_") if row.line]  # the others accumulate gradients
    assert {(row.phase, row.line) for row in updates} == {("forward", at("differentiable", "step"))}
    assert lines(rows, "AddBackward0") == {("backward", at("differentiable", "step"))}


def test_an_optimizer_with_a_closure(recorded: Any) -> None:
    layer = nn.Linear(3, 3)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=2)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = layer(torch.ones(1, 3)).square().sum()  # loss
        loss.backward()
        return loss

    def step() -> None:
        optimizer.step(closure)  # closure

    rows = recorded(step)
    assert lines(rows, "aten::linear") == {("forward", at("loss", "closure"))}
    assert {row.module for row in named(rows, "aten::linear")} == {"Linear"}
    assert {row.line for row in linked_backward(rows)} == {at("loss", "closure")}
    assert ("optimizer", at("closure", "step")) in lines(rows, "aten::dot")


def test_all_of_a_training_step(recorded: Any) -> None:
    layer = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(layer.parameters(), lr=torch.tensor(0.1), foreach=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)  # zero
        loss = layer(torch.ones(1, 3)).sum()
        scaler.scale(loss).backward()  # scale
        scaler.unscale_(optimizer)  # unscale
        nn.utils.clip_grad_norm_(layer.parameters(), 1.0)  # clip
        scaler.step(optimizer)
        scaler.update()  # update
        schedule.step()  # schedule

    layer(torch.ones(1, 3)).sum().backward()
    rows = recorded(step)
    assert lines(rows, "aten::_foreach_zero_") == {("other", at("zero", "step"))}
    unscaled = "aten::_amp_foreach_non_finite_check_and_unscale_"
    assert lines(rows, unscaled) == {("optimizer", at("unscale", "step"))}
    assert lines(rows, "aten::_foreach_norm") == {("optimizer", at("clip", "step"))}
    assert lines(rows, "aten::_amp_update_scale_") == {("optimizer", at("update", "step"))}
    assert {row.phase for row in rows if row.line == at("schedule", "step")} == {"optimizer"}
    assert all(row.line for row in linked_backward(rows))


def test_casts_of_autocast_have_the_line_of_the_first_call_that_needs_them(recorded: Any) -> None:
    layer, x = nn.Linear(3, 3), torch.ones(2, 3)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            y = layer(x)  # first use
            z = layer(y)  # second use
        torch.autograd.backward(z, torch.ones_like(z))  # back

    rows = recorded(step)
    casts = {
        phase: [row for row in named(rows, "aten::_to_copy") if row.phase == phase]
        for phase in ("forward", "backward")
    }
    # The first call casts x, weight and bias. The second finds weight and bias in autocast's cache.
    assert [row.line for row in casts["forward"]] == [at("first use", "step")] * 3
    # So both gradients of the weight pass the cast that the first call made.
    assert [row.line for row in casts["backward"]] == [at("first use", "step")] * 2
    assert {row.line for row in named(rows, "AddmmBackward0")} == {
        at("first use", "step"),
        at("second use", "step"),
    }
    assert all(row.line for row in linked_backward(rows))
