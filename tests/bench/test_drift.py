"""How often a call may be repeated on the operands that it writes."""

import pytest
import torch

from perfprobe.bench.drift import _STEADY, FEW, MANY, calls_between_restores
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables.measurements import Wanted


def test_repeated_multiplication_is_not_steady() -> None:
    assert calls_between_restores("aten::mul_", "Scalar") == FEW
    assert calls_between_restores("aten::exp_", "") == FEW
    assert calls_between_restores("aten::add_", "Tensor") == MANY


def test_the_listed_operators_exist() -> None:
    assert all(hasattr(torch.ops.aten, name.partition(".")[0]) for name in _STEADY)


@pytest.mark.parametrize(
    ("operator", "signature"),
    [
        ("aten::mul_.Tensor", "f32[4096] f32[4096]"),
        ("aten::div_.Tensor", "f32[4096] f32[]"),
        ("aten::addcdiv_", "f32[4096] f32[4096] f32[4096] value=float"),
        ("aten::lerp_.Scalar", "f32[4096] f32[4096] weight=float"),
        ("aten::add_.Tensor", "f32[4096] f64[] alpha=1"),
    ],
)
def test_values_stay_ordinary(operator: str, signature: str) -> None:
    call = Rebuilt(recipe(Wanted(operator, signature), schemas(operator, torch)), torch)
    operands = call.operands(1)
    for _ in range(MANY):
        call.run(operands)
    sizes = operands.args[0].abs()
    assert ((sizes > 1e-30) & (sizes < 1e30)).all()
