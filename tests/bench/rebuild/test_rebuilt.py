"""Real calls: operands have the recorded layout and consistent values, and are restored exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from perfprobe.bench.rebuild import operands
from perfprobe.bench.rebuild.classes import FIXED, SAVED
from perfprobe.bench.rebuild.rebuilt import Rebuilt
from perfprobe.bench.rebuild.recipe import NotRebuilt
from perfprobe.bench.rebuild.schema import schemas
from tests.bench.rebuild.calls import rebuilt, tensors_in

TWO = "(f32[5,3],f32[4])"
ADAM = (
    f"{TWO} {TWO} {TWO} {TWO} () (f32[],f32[]) lr=0.001 beta1=0.9"
    " beta2=0.999 weight_decay=0.0 eps=1e-08 amsgrad=False maximize=False - -"
)
CONVOLUTION = "stride=(2,2) padding=(1,1) dilation=(1,1) transposed=False output_padding=(0,0) groups=1"
ARTICLE = [
    ("aten::bmm", "f32[64,128,64] f32[64,64,128]{8192,1,64}"),
    ("aten::div.Tensor", "f32[64,128,128] f32[64,128,1]"),
    ("aten::div", "f32[64,128,128] 8.0"),
    ("aten::copy_", "f32[16,8,64,4]{2048,4,32,1} f32[16,8,64,4] non_blocking=False"),
    ("aten::mm", "f32[2,8]{1,2} f32[8,4]"),
    ("aten::mul.Tensor", "f32[64,32] f32[]"),
    ("aten::bernoulli_.float", "f32[64,32] p=0.9"),
    (
        "aten::native_layer_norm_backward",
        "f32[4,8] f32[4,8] normalized_shape=(8) f32[4,1] f32[4,1] f32[8] f32[8] output_mask=(True,True,True)",
    ),
    ("aten::_softmax_backward_data", "f32[4,8,8] f32[4,8,8] dim=-1 input_dtype=f32"),
    ("aten::_softmax", "f32[4,8,8] dim=-1 half_to_float=False"),
    ("aten::masked_fill_.Scalar", "f32[4,8,8] bool[4,1,8] value=-1e9"),
    (
        "aten::mkldnn_convolution",
        "f32[2,4,9,9] f32[8,4,3,3] f32[8] padding=(1,1) stride=(2,2) dilation=(1,1) groups=1",
    ),
    (
        "aten::convolution_backward",
        f"f32[2,8,5,5] f32[2,4,9,9] f32[8,4,3,3] bias_sizes=(8) {CONVOLUTION} output_mask=(True,True,True)",
    ),
    (
        "aten::embedding_dense_backward",
        "f32[7,16] i64[7] num_weights=50 padding_idx=-1 scale_grad_by_freq=False",
    ),
    ("aten::add_.Tensor", "f32[64,32] f32[32] alpha=1"),
    ("aten::div_.Scalar", "f32[64,32] other=0.9"),
    ("aten::sum", "f32[64,32]"),
    ("aten::add", "f32[64,32] f32[64,32]"),
    ("aten::empty", "size=(64,32) dtype=f32 device=cpu pin_memory=False"),
    ("aten::mul_", "f32[64,32] f32[32]"),
]


@pytest.mark.parametrize(("operator", "signature"), ARTICLE)
def test_calls_of_the_article_can_be_rebuilt(operator: str, signature: str) -> None:
    call = rebuilt(operator, signature)
    made = call.operands(3)
    is_written = [
        bool(found.alias_info and found.alias_info.is_write) for found in call.function._schema.arguments
    ]
    assert call.writes is any(is_written)
    results = tensors_in(call.run(made))
    assert results
    assert operator == "aten::empty" or all(bool(result.isfinite().all()) for result in results)
    small = rebuilt_small(operator, signature)
    assert small <= 16, "floor operands"


def rebuilt_small(operator: str, signature: str) -> int:
    """The number of elements of the largest operand, with the smallest operands."""
    found = rebuilt(operator, signature).one_element()
    return max((torch.Size(tensor.sizes).numel() for tensor in found.tensors()), default=0)


@pytest.mark.parametrize(
    ("operator", "signature"),
    [
        ("aten::add_", "f32[8,4]{1,8} f32[8,4]"),
        ("aten::mul_.Scalar", "f32[1000] other=0.5"),
        ("aten::masked_fill_.Scalar", "f32[8,4]{8,2} bool[8,4] value=-inf"),
        ("aten::copy_", "bf16[8,4] f32[8,4] non_blocking=False"),
        ("aten::index_put_", "f32[9,4] (i64[5]) f32[5,4] accumulate=True"),
        ("aten::index_put_", "f32[9,4] (bool[9]) f32[5,4] accumulate=False"),
        ("aten::_fused_adam_", ADAM),
        ("aten::bernoulli_.float", "f32[8] p=0.9"),
        ("aten::_foreach_add_.Scalar", "(f32[3],f32[2,2]) scalar=1.0"),
        ("aten::add.out", "f32[8] f32[8] alpha=1 f32[8]"),
        (
            "aten::native_batch_norm",
            "f32[2,3,4] f32[3] f32[3] f32[3] f32[3] training=True momentum=0.1 eps=1e-05",
        ),
    ],
)
def test_operands_are_restored(operator: str, signature: str) -> None:
    call = rebuilt(operator, signature)
    assert call.writes
    made, same = call.operands(1), call.operands(1)
    before = [tensor.clone() for tensor in tensors_in([made.args, list(made.kwargs.values())])]
    for _ in range(3):
        call.run(made)
    after = tensors_in([made.args, list(made.kwargs.values())])
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    made.restore()
    for old, new, other in zip(
        before, after, tensors_in([same.args, list(same.kwargs.values())]), strict=True
    ):
        assert bits(old) == bits(new)
        assert bits(new) == bits(other), "the seed decides"


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.contiguous().view(-1).view(torch.uint8).tolist()


def test_sizes_strides_and_repeated_elements_are_as_recorded() -> None:
    made = rebuilt("aten::add", "f32[4,3,2]{2,0,1} f64[4,3,2]{100,10,3}").operands(0)
    first, second = made.args[:2]
    assert (first.stride(), first.untyped_storage().nbytes()) == ((2, 0, 1), 8 * 4)
    assert (second.stride(), second.untyped_storage().nbytes()) == ((100, 10, 3), (1 + 300 + 20 + 3) * 8)
    windows = rebuilt("aten::sum", "f32[5,3]{1,1}").operands(0).args[0]
    assert (windows.stride(), windows.untyped_storage().nbytes()) == ((1, 1), 7 * 4)
    assert rebuilt("aten::add", "f32[0,3]{7,1} f32[3]").operands(0).args[0].stride() == (7, 1)


def test_values_are_of_the_recorded_kind() -> None:
    seen = '[{"zeros":0.5,"negatives":0.25,"denormals":0,"nonfinite":0},{"true":0.1}]'
    made = rebuilt("aten::masked_fill_.Scalar", "f32[200,100] bool[200,100] value=1", values=seen).operands(0)
    numbers, mask = made.args[:2]
    parts = [
        float((numbers == 0).float().mean()),
        float((numbers < 0).float().mean()),
        float(mask.float().mean()),
    ]
    assert parts == pytest.approx([0.5, 0.25, 0.1], abs=0.02)
    assert not bool(((numbers != 0) & (numbers.abs() < 1e-30)).any())
    for dtype in ("f16", "bf16", "f64", "c64", "float8_e4m3fn"):
        tensor = rebuilt("aten::clone", f"{dtype}[64]").operands(0).args[0]
        magnitude = tensor.to(torch.complex64).abs()
        assert bool(((magnitude > 0.4) & (magnitude < 2.2)).all()), dtype
    with_each_once = rebuilt("aten::index_select", "f32[50,2] dim=0 i64[50]", values='[null,{"distinct":1}]')
    assert sorted(with_each_once.operands(0).args[2].tolist()) == list(range(50))


@pytest.mark.parametrize(("part", "changes"), [(0.5, 0.5), (0.5, 0.05), (0.2, 0.02)])
def test_masks_and_zeros_have_runs_as_recorded(part: float, changes: float) -> None:
    """Branch prediction learns long runs. A mask with the same number of changes costs the same."""
    floats = {"zeros": part, "negatives": 0, "denormals": 0, "nonfinite": 0, "changes": changes}
    seen = json.dumps([floats, {"true": part, "changes": changes}])
    made = rebuilt("aten::masked_fill_.Scalar", "f32[400,500] bool[400,500] value=1", values=seen).operands(0)
    for kinds in (made.args[0] == 0, made.args[1]):
        flat = kinds.flatten()
        assert flat.float().mean().item() == pytest.approx(part, abs=0.05)
        assert (flat[1:] != flat[:-1]).float().mean().item() == pytest.approx(changes, rel=0.15)


def test_saved_tensors_are_consistent_with_forward() -> None:
    call = rebuilt(*ARTICLE[7])
    grad, x, shape, _, _, weight, bias, _ = call.operands(0).args
    x, weight, bias = (tensor.clone().requires_grad_() for tensor in (x, weight, bias))
    torch.nn.functional.layer_norm(x, shape, weight, bias).backward(grad)
    for found, wanted in zip(call.run(call.operands(0)), (x.grad, weight.grad, bias.grad), strict=True):
        torch.testing.assert_close(found, wanted)
    output = rebuilt(*ARTICLE[8]).operands(0).args[1]
    torch.testing.assert_close(output.sum(-1), torch.ones(4, 8))


@pytest.mark.parametrize(
    ("operator", "places"),
    [
        ("native_layer_norm_backward", {1: "input", 2: "normalized_shape", 3: "mean", 4: "rstd", 6: "bias"}),
        ("native_group_norm_backward", {1: "input", 2: "mean", 3: "rstd", 4: "weight", 5: "N", 8: "group"}),
        ("_fused_rms_norm_backward", {1: "input", 2: "normalized_shape", 3: "rstd"}),
        ("native_batch_norm_backward", {1: "input", 2: "weight", 5: "save_mean", 6: "save_invstd", 8: "eps"}),
        (
            "_scaled_dot_product_flash_attention_for_cpu_backward",
            {1: "query", 4: "out", 5: "logsumexp", 7: "is_causal"},
        ),
        (
            "_scaled_dot_product_flash_attention_backward",
            {4: "out", 5: "logsumexp", 10: "dropout_p", 12: "philox_seed"},
        ),
        (
            "_scaled_dot_product_efficient_attention_backward",
            {4: "attn_bias", 5: "out", 6: "logsumexp", 7: "philox_seed", 9: "dropout_p", 11: "is_causal"},
        ),
        (
            "cudnn_batch_norm_backward",
            {0: "input", 5: "save_mean", 6: "save_var", 7: "epsilon", 8: "reserveSpace"},
        ),
        ("mkldnn_rnn_layer_backward", {7: "output", 9: "cy_", 13: "reverse", 18: "train", 22: "workspace"}),
        ("max_pool2d_with_indices_backward", {1: "self", 6: "ceil_mode", 7: "indices"}),
        ("nll_loss_backward", {2: "target", 6: "total_weight"}),
        ("_softmax_backward_data", {1: "output", 2: "dim"}),
    ],
)
def test_positions_of_saved_tensors(operator: str, places: dict[int, str]) -> None:
    found = schemas(f"aten::{operator}", torch)[0].parameters
    assert {place: found[place].name for place in places} == places
    assert SAVED[operator] in operands.SAVED


GONE = {"cholesky"}  # since torch 2.15


def test_operators_with_classes_of_values_exist() -> None:
    known = {name for name in dir(torch.ops.aten)}
    for name, classes in FIXED.items():
        overloads = [schema for full in (name, f"{name}_") for schema in schemas(f"aten::{full}", torch)]
        parameters = {parameter.name for schema in overloads for parameter in schema.parameters}
        assert overloads or name in known | GONE, name
        assert parameters & classes.keys() or not overloads, name
        assert all(values[0] in operands.MAKERS for values in classes.values())


@pytest.mark.parametrize(
    ("operator", "signature"),
    [
        ("aten::bmm", "f32[40000,40000,1] f32[40000,1,40000]"),
        ("aten::mm", "f32[1000000,1] f32[1,1000000]"),
        ("aten::zeros", "size=(1000000000000)"),
        (
            "aten::embedding_dense_backward",
            "f32[7,16] i64[7] num_weights=900000000000 padding_idx=-1 scale_grad_by_freq=False",
        ),
        ("aten::repeat", "f32[8] repeats=(1000000,1000000)"),
        ("aten::arange", "end=100000000000000"),
        ("aten::unbind.int", "f32[1000000000]{0} dim=0"),
        ("aten::add", "f32[1000000,1] f32[1000000]"),
        ("aten::histogram.bin_ct", "f32[8] bins=99999999 - density=False"),
    ],
)
def test_too_large_results_are_refused(operator: str, signature: str) -> None:
    with pytest.raises(NotRebuilt):
        rebuilt(operator, signature, limit_bytes=1 << 28)


def test_missing_devices_are_reported() -> None:
    there = torch.cuda.device_count()
    with pytest.raises(NotRebuilt, match=f"needs cuda:{there}, this machine has"):
        rebuilt("aten::add", f"f32[2]@cuda:{there} f32[2]@cuda:{there}")


HOSTILE = """
import random, resource, sys
import torch
from tests.bench.rebuild.calls import rebuilt
from perfprobe.bench.rebuild.recipe import NotRebuilt
from perfprobe.bench.rebuild.rebuilt import Rebuilt

chosen = random.Random(int(sys.argv[1]))
calls = {calls!r}
numbers = ["0", "1", "3", "-1", "9", "1000000", "99999999999", "9223372036854775807"]
limit = 64 << 20
made = 0
for _ in range(500):
    operator, signature = chosen.choice(calls)
    for mark in "()[],":
        signature = signature.replace(mark, f" {mark} ")
    words = signature.split(" ")
    for _ in range(chosen.randrange(1, 3)):
        at = chosen.randrange(len(words))
        name = words[at].partition("=")[0] + "=" if "=" in words[at] else ""
        words[at] = name + chosen.choice(numbers)
    text = " ".join(words)
    for mark in "()[],":
        text = text.replace(f" {mark} ", mark)
    try:
        call = rebuilt(operator, text, limit_bytes=limit)
        call.operands(0)
        made += 1
    except NotRebuilt:
        pass
print(made, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_hostile_sizes_do_not_allocate_memory() -> None:
    calls = [call for call in ARTICLE if not call[0].startswith("aten::div")]
    program = HOSTILE.replace("{calls!r}", repr(calls))
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program, "7"], capture_output=True, text=True, cwd=root, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    made, peak_kib = map(int, done.stdout.split())
    assert made > 30
    assert peak_kib < 1_200_000, "torch itself takes a part of it"


def test_plain_calls_can_be_written_as_json() -> None:
    call = rebuilt("aten::_to_copy", "f32[2,2]{1,2} dtype=bf16 device=cpu non_blocking=False memory_format=0")
    plain = json.loads(json.dumps(call.recipe.plain()))
    made = operands.Operands(torch, plain, 5)
    result = operands.function(torch, plain)(*made.args, **made.kwargs)
    assert (result.dtype, made.args[0].stride()) == (torch.bfloat16, (1, 2))


@pytest.mark.parametrize(
    ("operator", "signature"),
    [
        ("aten::randn", "size=(128,64) device=cpu pin_memory=False"),
        ("aten::arange", "end=50 device=cpu pin_memory=False"),
        ("aten::new_zeros", "f32[4] size=(200,300)"),
    ],
)
def test_the_smallest_call_of_a_factory_allocates_little(operator: str, signature: str) -> None:
    small = rebuilt(operator, signature).one_element()
    call = Rebuilt(small, torch, 1 << 20)
    assert call.run(call.operands(0)).numel() <= 1


def test_the_smallest_operands_are_consistent() -> None:
    offsets = rebuilt(
        "aten::_embedding_bag", "f32[50,8] i64[40] i64[5] scale_grad_by_freq=False mode=1 sparse=False -"
    )
    small = offsets.one_element()
    assert [tensor.sizes for tensor in small.tensors()] == [(1, 1), (1,), (1,)]
    depthwise = "f32[2,8,9,9] f32[8,1,3,3] - stride=(2,2) padding=(1,1) dilation=(1,1) transposed=False"
    found = rebuilt("aten::convolution", f"{depthwise} output_padding=(0,0) groups=8").one_element()
    assert [tensor.sizes for tensor in found.tensors()] == [(1, 1, 1, 1), (1, 1, 3, 3)]
    plain = rebuilt("aten::conv2d", "f32[1,3,8,8] f32[4,3,3,3] stride=2").one_element()
    assert [tensor.sizes for tensor in plain.tensors()] == [(1, 1, 3, 3), (1, 1, 3, 3)]
    view = rebuilt("aten::_unsafe_view", "f32[4,32,8,16] size=(4,32,128)").one_element()
    assert (view.arguments[1], next(view.tensors()).sizes) == ((1, 1, 1), (1, 1, 1, 1))
    larger = rebuilt("aten::mm", "f32[64,32] f32[32,16]{1,32}").one_element(8)
    assert [(tensor.sizes, tensor.strides) for tensor in larger.tensors()] == [
        ((8, 8), None),
        ((8, 8), (1, 8)),
    ]
    weights = "(f32[32,8],f32[32,8],f32[32],f32[32])"
    for operator, signature in (
        ("aten::_fft_c2r", "c64[4,6] dim=(1) normalization=2 last_dim_size=10"),
        ("aten::lstm", f"f32[5,2,8] (f32[1,2,8],f32[1,2,8]) {weights} True 1 0.0 False False False"),
    ):
        call = rebuilt(operator, signature)
        call.run(call.operands(0))
        with pytest.raises(NotRebuilt):
            call.one_element()


def test_unusual_digests_still_give_operands() -> None:
    widest = '[{"lowest":-9223372036854775808,"highest":9223372036854775807,"distinct":1},null]'
    wide = '[{"lowest":-4611686018427387904,"highest":4611686018427387904,"distinct":0.5},null]'
    for values in (
        widest,
        wide,
        '[{"lowest":5,"highest":1},{}]',
        "[[],3]",
        '[{"distinct":-1},{"zeros":"x"}]',
    ):
        made = rebuilt("aten::mul.Tensor", "i64[64] i64[64]", values=values).operands(0)
        assert made.args[0].shape == (64,)
