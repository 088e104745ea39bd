"""Nearly all backward operators have a line or a meaningful name, in every kind of program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from perfprobe.merge import link
from perfprobe.tables import storage
from perfprobe.tables.trace import NoLine, Phase
from tests.collect.attribution import Marks
from tests.collect.recorded import one_thread, record
from tests.found import hotspots

at = Marks(__file__)


class Adjoint(torch.autograd.Function):
    """Solves an equation forwards and its adjoint backwards, with gradients computed on the way."""

    @staticmethod
    def forward(ctx: Any, field: nn.Module, y: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            y = y + field(y) / 3
        ctx.field = field
        ctx.save_for_backward(y, *parameters)
        return y

    @staticmethod
    def backward(ctx: Any, *outer: torch.Tensor) -> Any:
        y, *parameters = ctx.saved_tensors
        (adjoint,), gradients = outer, [torch.zeros_like(each) for each in parameters]
        for _ in range(3):
            with torch.enable_grad():
                y = y.detach().requires_grad_()
                slope = ctx.field(y)
                found, *more = torch.autograd.grad(slope, (y, *parameters), adjoint)  # inner
            y, adjoint = y - slope.detach() / 3, adjoint + found / 3
            gradients = [total + each / 3 for total, each in zip(gradients, more, strict=True)]
        return None, adjoint, *gradients


def ode() -> None:
    field = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32))
    for _ in range(3):
        Adjoint.apply(field, torch.ones(16, 32), *field.parameters()).square().mean().backward()  # outer


def gan() -> None:
    maker = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    judge = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    for _ in range(3):
        fake = maker(torch.ones(16, 8))
        (judge(torch.ones(16, 32)) - judge(fake.detach())).mean().backward()
        judge(fake).mean().backward()


def recurrent() -> None:
    for kind in (nn.LSTM, nn.GRU):
        embedding, network = nn.Embedding(9, 16), kind(16, 16, num_layers=2)
        for _ in range(2):
            output, _ = network(embedding(torch.ones(5, 3, dtype=torch.long)))
            functional.cross_entropy(output.flatten(0, 1), torch.ones(15, dtype=torch.long)).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)


def checkpointed() -> None:
    block = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
    for reentrant in (False, True):
        x = torch.ones(8, 32, requires_grad=True)
        checkpoint(block, x, use_reentrant=reentrant).square().mean().backward()


def double() -> None:
    network = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
    for _ in range(3):
        x = torch.ones(8, 16, requires_grad=True)
        (slope,) = torch.autograd.grad(network(x).sum(), x, create_graph=True)
        ((slope.norm(dim=1) - 1) ** 2).mean().backward()


NAMED = (NoLine.NONE, NoLine.NODE_WITHOUT_FORWARD, NoLine.GRADIENT_REDUCTION)


@pytest.mark.parametrize("run", [ode, gan, recurrent, checkpointed, double])
def test_nearly_all_backward_operators_have_a_line_or_a_reason(
    tmp_path: Path, run: Callable[[], None]
) -> None:
    one_thread()
    path = tmp_path / "run.perfprobe"
    record(path, run)
    found = hotspots(link(storage.read(path))).rows
    backward = found.phase == Phase.BACKWARD
    named = backward & [no_line in NAMED for no_line in found.no_line.tolist()]
    # Calls count with their usual duration: one that waits for a processor is longer than all others.
    self_ns = np.minimum(found.self_ns, found.usual_ns * found.calls)
    assert int(self_ns[named].sum()) >= 0.99 * int(self_ns[backward].sum()) > 0


def test_gradients_computed_in_backward_have_both_lines(tmp_path: Path) -> None:
    one_thread()
    rows = record(tmp_path / "run.perfprobe", ode)
    inner = [row for row in rows if row.name == "aten::tanh_backward"]
    assert len(inner) == 9
    assert {row.phase for row in inner} == {"backward"}
    nodes = [row for row in rows if row.name == "AdjointBackward"]
    assert {row.line for row in nodes} == {at("outer", "ode")}
    assert {row.self_ns for row in nodes} == {0}
