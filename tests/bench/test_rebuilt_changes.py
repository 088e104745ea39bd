"""Changed calls, rebuilt and made: each has the change that its text says."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from perfprobe.bench.counterfactuals import Change, changes
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipes import recipe
from perfprobe.bench.rebuild.schema import schemas
from perfprobe.tables.measurements import Wanted

FLOATS = {"zeros": 0.25, "negatives": 0.5, "denormals": 0, "nonfinite": 0}
TINY = {**FLOATS, "denormals": 0.25}
CALLS = [
    Wanted("aten::mm", "f64[13,13] f64[13,13]"),
    Wanted("aten::mm", "f32[64,300]{1,64} f32[300,100]{1,300}"),
    Wanted("aten::bmm", "f64[256,13,13] f64[256,13,13]"),
    Wanted("aten::bmm", "f32[64,128,13]{1664,1,128} f32[64,13,128]"),
    Wanted("aten::baddbmm", "f32[8,1,20] f32[8,16,20] f32[8,20,20] beta=1 alpha=1"),
    Wanted("aten::addmm", "f32[100] f32[64,32] f32[32,100] beta=1 alpha=1"),
    Wanted("aten::addmm_", "f32[13,16] f32[13,16] f32[16,16] beta=1 alpha=1"),
    Wanted("aten::mv", "f32[20,20] f32[20]"),
    Wanted("aten::div.Tensor", "f32[64,128] f32[64,128]{1,64}"),
    Wanted("aten::add_.Tensor", "f64[512,512]{1,512} f64[512,512] alpha=1"),
    Wanted("aten::copy_", "f32[64,128] f32[64,128]{1,64} non_blocking=False"),
    Wanted("aten::cat", "(f32[64,8]{1,64},f32[64,8]) dim=1"),
    Wanted("aten::sum.dim_IntList", "f64[64,64]{1,64} dim=(1) keepdim=False dtype=f64"),
    Wanted("aten::_softmax", "f32[64,8,8]{64,1,8} dim=-1 half_to_float=False"),
    Wanted("aten::_softmax_backward_data", "f32[64,64]{1,64} f32[64,64]{1,64} dim=1 input_dtype=f32"),
    Wanted("aten::native_layer_norm", "f64[64,64]{1,64} normalized_shape=(64) f64[64] f64[64] eps=float"),
    Wanted(
        "aten::native_layer_norm_backward",
        "f32[64,64]{1,64} f32[64,64] normalized_shape=(64) f32[64,1] f32[64,1] f32[64] f32[64]"
        " output_mask=(True,True,True)",
    ),
    Wanted(
        "aten::convolution",
        "f32[2,3,8,8]{192,1,24,3} f32[4,3,3,3]{27,1,9,3} - stride=(1,1) padding=(0,0) dilation=(1,1)"
        " transposed=False output_padding=(0,0) groups=1",
    ),
    Wanted(
        "aten::convolution_backward",
        "f32[2,4,6,6] f32[2,3,8,8]{192,1,24,3} f32[4,3,3,3] bias_sizes=(0) stride=(1,1) padding=(0,0)"
        " dilation=(1,1) transposed=False output_padding=(0,0) groups=1 output_mask=(True,True,False)",
    ),
    Wanted(
        "aten::masked_fill_.Scalar",
        "f32[64,64] bool[64,64] value=float",
        values=json.dumps([FLOATS, {"true": 0.5}]),
    ),
    Wanted("aten::where.self", "bool[64,64] f32[64,64] f32[64,64]"),
    Wanted("aten::nonzero", "bool[64,64]"),
    Wanted("aten::mul.Tensor", "f32[64,64] f32[64,64]", values=json.dumps([TINY, TINY])),
    Wanted("aten::sqrt", "f32[64,64]", values=json.dumps([{**FLOATS, "negatives": 0}])),
    Wanted("aten::threshold_backward", "f32[64,64]{1,64} f32[64,64] threshold=0"),
    Wanted(
        "aten::embedding_dense_backward",
        "f32[64,8] i64[64] num_weights=100 padding_idx=-1 scale_grad_by_freq=False",
    ),
    Wanted("aten::bernoulli_.float", "f32[64,64] p=float", "f32[64,64] p=0.9"),
    Wanted("aten::exp", "f32[512,512]"),
]  # fmt: skip


def rebuilt(wanted: Wanted) -> Rebuilt:
    return Rebuilt(recipe(wanted, schemas(wanted.operator.partition(".")[0], torch)), torch)


def operands(wanted: Wanted) -> list[torch.Tensor]:
    """Makes the changed call and returns its tensors."""
    call = rebuilt(wanted)
    made = call.operands(0)
    found: list[torch.Tensor] = []
    for argument in made.args:
        parts = argument if isinstance(argument, (list, tuple)) else [argument]
        found += [part.clone() for part in parts if isinstance(part, torch.Tensor)]
    call.run(made)
    return found


def found_by(tensors: list[torch.Tensor], change: Change, original: list[torch.Tensor]) -> Any:
    """What a change of this kind must change in the operands, compared with the original call."""
    if change.kind == "contiguous":
        assert [list(tensor.shape) for tensor in tensors] == [list(tensor.shape) for tensor in original]
        return all(tensor.is_contiguous() for tensor in tensors)
    if change.kind == "padded":
        sizes = {size for tensor in tensors for size in tensor.shape}
        return sizes >= {int(part.split("→")[1]) for part in change.change.split(", ")}
    if change.kind == "dtype":
        dtypes = {tensor.dtype for tensor in tensors}
        return dtypes == ({torch.bfloat16} if change.change.endswith("bf16") else {torch.float32})
    if change.kind == "values":
        return (
            any(not torch.equal(new, old) for new, old in zip(tensors, original, strict=True))
            or "p " in change.change
        )
    return all(torch.equal(new, old) for new, old in zip(tensors, original, strict=True))  # fmt: skip


@pytest.mark.parametrize("wanted", CALLS, ids=lambda wanted: f"{wanted.operator} {wanted.signature[:40]}")
def test_a_changed_call_can_be_made_and_is_changed_as_it_says(wanted: Wanted) -> None:
    original = operands(wanted)
    found = changes(wanted, rebuilt(wanted).recipe, threads=2)
    assert found
    for change in found:
        assert found_by(operands(change.wanted), change, original), change


@pytest.mark.parametrize(
    ("wanted", "part", "before", "after"),
    [
        (CALLS[19], lambda made: made[1].float().mean(), 0.5, 0.01),
        (CALLS[20], lambda made: made[0].float().mean(), 0.5, 0.01),
        (CALLS[22], lambda made: ((made[0] != 0) & (made[0].abs() < 1e-38)).float().mean(), 0.25, 0.0),
        (CALLS[23], lambda made: (made[0] == 0).float().mean(), 0.25, 0.0),
        (CALLS[24], lambda made: (made[1] <= 0).float().mean(), 0.5, 0.0),
        (CALLS[25], lambda made: made[1].unique().numel() / made[1].numel(), 0.74, 1 / 64),
    ],
)
def test_changed_values_are_those_that_the_change_names(
    wanted: Wanted, part: Any, before: float, after: float
) -> None:
    (change,) = [
        change for change in changes(wanted, rebuilt(wanted).recipe, threads=1) if change.kind == "values"
    ]
    assert float(part(operands(wanted))) == pytest.approx(before, abs=0.1)
    assert float(part(operands(change.wanted))) == pytest.approx(after, abs=0.005)


def test_only_scattered_arguments_are_copied() -> None:
    for wanted in CALLS:
        call = rebuilt(wanted)
        made = call.operands(0)
        for change in changes(wanted, call.recipe, threads=1):
            for place in change.copied:
                argument = made.args[place]
                parts = argument if isinstance(argument, (list, tuple)) else [argument]
                assert not all(part.is_contiguous() for part in parts), wanted
