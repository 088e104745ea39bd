"""The operations of a call including all nested ones, compared with counting loops and torch's counter."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import conv2d, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from perfprobe.models.work import ELEMENT_KINDS, FLOPS, MODELS, Work, flops, work
from tests.collect.recorded import record
from tests.models.calls import f
from tests.models.test_work_bytes import operator

aten = torch.ops.aten
SDPA = "aten::_scaled_dot_product_flash_attention_for_cpu"
BACKWARD = "aten::convolution_backward"


def modelled(path: Path, run: Callable[[], Any]) -> Work:
    """The FLOPs of the last outermost call."""
    row = [row for row in record(path / "run.perfprobe", run) if row.depth == 0][-1]
    found = work(operator(row), row.signature)
    assert found is not None
    return found


def multiplied(
    image: tuple[int, ...], weight: tuple[int, ...], stride: int, padding: int, dilation: int
) -> Any:
    """Multiply-adds of a 2D convolution, including padding, and the places of the image that are read."""
    batch, _, height, width = image
    out, inner, *kernel = weight
    rows = (height + 2 * padding - dilation * (kernel[0] - 1) - 1) // stride + 1
    columns = (width + 2 * padding - dilation * (kernel[1] - 1) - 1) // stride + 1
    count, places = 0, set()
    loops = (batch, out, rows, columns, inner, *kernel)
    for _, _, row, column, _, tap_row, tap_column in itertools.product(*map(range, loops)):
        count += 1
        place = row * stride + tap_row * dilation - padding, column * stride + tap_column * dilation - padding
        if 0 <= place[0] < height and 0 <= place[1] < width:
            places.add(place)
    return count, len(places)


@pytest.mark.parametrize(
    ("weight", "stride", "padding", "dilation", "groups"),
    [
        ((4, 2, 3, 3), 1, 0, 1, 1),
        ((4, 2, 3, 3), 2, 1, 1, 1),
        ((4, 2, 1, 1), 2, 0, 1, 1),
        ((4, 2, 1, 1), 3, 1, 1, 1),
        ((4, 2, 2, 2), 3, 0, 1, 1),
        ((4, 2, 2, 2), 1, 0, 3, 1),
        ((4, 1, 3, 3), 1, 1, 1, 2),
        ((4, 1, 3, 3), 2, 0, 2, 2),
    ],
)
def test_a_convolution_equals_counting_loops(
    weight: tuple[int, ...], stride: int, padding: int, dilation: int, groups: int, tmp_path: Path
) -> None:
    sizes = (2, 2, 9, 8)
    pairs = ([stride] * 2, [padding] * 2, [dilation] * 2)
    found = modelled(
        tmp_path, lambda: aten.convolution(f(*sizes), f(*weight), None, *pairs, False, [0, 0], groups)
    )
    count, places = multiplied(sizes, weight, stride, padding, dilation)
    assert found.flops == 2 * count
    assert found.read_bytes == 4 * (sizes[0] * sizes[1] * places + f(*weight).numel())


@pytest.mark.parametrize(
    "run",
    [
        lambda: aten.mm(torch.ones(3, 4), torch.ones(4, 5)),
        lambda: aten.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5)),
        lambda: aten.matmul(torch.ones(2, 1, 3, 4), torch.ones(6, 4, 5)),
        lambda: aten.matmul(torch.ones(4), torch.ones(6, 4, 5)),
        lambda: aten.matmul(torch.ones(6, 3, 4), torch.ones(4)),
        lambda: aten.matmul(torch.ones(4), torch.ones(4)),
        lambda: aten.linear(torch.ones(2, 3, 4), torch.ones(5, 4)),
        lambda: aten.mv(torch.ones(3, 4), torch.ones(4)),
        lambda: aten.dot(torch.ones(4), torch.ones(4)),
        lambda: aten.addbmm(torch.zeros(3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5)),
        lambda: aten.convolution(
            torch.ones(2, 4, 9), torch.ones(6, 2, 3), None, [2], [0], [1], False, [0], 2
        ),
        lambda: aten.convolution(torch.ones(2, 4, 9), torch.ones(4, 3, 3), None, [2], [0], [1], True, [0], 2),
    ],
)
def test_products_of_ones_count_their_multiply_adds(run: Callable[[], Any], tmp_path: Path) -> None:
    found = modelled(tmp_path, run)
    assert found.is_product
    assert found.flops == 2 * int(run().sum())


@pytest.mark.parametrize(
    ("layer", "elementwise"), [(torch.nn.LSTM, 10), (torch.nn.GRU, 8), (torch.nn.RNN, 2)]
)
@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("settings", [{}, {"num_layers": 3}, {"num_layers": 2, "bidirectional": True}])
def test_recurrent_layers_as_torch_counts_their_products(
    layer: Any, elementwise: int, settings: dict[str, Any], tmp_path: Path
) -> None:
    network, sequence = layer(3, 4, **settings), f(5, 2, 3)
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False):
        with FlopCounterMode(display=False) as counter:
            network(sequence)
        rows = record(tmp_path / "run.perfprobe", lambda: network(sequence))
    found = next(
        made
        for row in rows
        if row.overload == "input" and (made := work(operator(row), row.signature)) is not None
    )
    states = 5 * 2 * 4 * settings.get("num_layers", 1) * (1 + settings.get("bidirectional", False))
    assert found.flops == counter.get_total_flops() + elementwise * states


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize(
    ("run", "name", "wrong"),
    [
        (lambda: torch.ones(3, 4) @ torch.ones(4), "aten::mv", 0),
        (lambda: torch.dot(torch.ones(4), torch.ones(4)), "aten::dot", 0),
        (lambda: torch.addbmm(f(3, 5), f(2, 3, 4), f(2, 4, 5)), "aten::addbmm", 0),
        (lambda: scaled_dot_product_attention(f(1, 2, 5, 4), f(1, 2, 5, 4), f(1, 2, 5, 4)), SDPA, 0),
        (lambda: torch.nn.LSTM(3, 4)(f(5, 2, 3)), "aten::lstm", 0),
        # The gradient of a depthwise weight with 4 channels: counted as if each used all four.
        (lambda: conv2d(f(1, 4, 8, 8), depthwise(), groups=4).sum().backward(), BACKWARD, 4 * 2 * 4 * 36 * 9),
    ],
)
def test_calls_that_torchs_counter_counts_wrongly(
    run: Callable[[], Any], name: str, wrong: int, tmp_path: Path
) -> None:
    with FlopCounterMode(display=False) as counter:
        run()
    rows = [row for row in record(tmp_path / "run.perfprobe", run) if row.name == name]
    found = work(operator(rows[0]), rows[0].signature)
    assert found is not None
    others = 2 * 4 * 36 * 9 if name == BACKWARD else 0  # forward
    assert counter.get_total_flops() - others in (wrong, found.flops)  # or a newer torch has fixed it
    assert found.flops > 0


def depthwise() -> torch.Tensor:
    return f(4, 1, 3, 3).requires_grad_()


def test_onednn_layers_have_the_work_of_the_operator_around(tmp_path: Path) -> None:
    network = torch.nn.LSTM(3, 4)
    sequence = f(5, 2, 3).requires_grad_()
    rows = record(tmp_path / "run.perfprobe", lambda: network(sequence)[0].sum().backward())
    found = {row.name: work(operator(row), row.signature) for row in rows}
    whole, layer = found["aten::lstm"], found["aten::mkldnn_rnn_layer"]
    backward = found["aten::mkldnn_rnn_layer_backward"]
    assert whole is not None
    assert layer is not None
    assert backward is not None
    assert (layer.flops, layer.elements) == (whole.flops, whole.elements)
    assert backward.flops == 2 * layer.flops


def test_the_kernels_of_a_network_and_their_callers_agree(tmp_path: Path) -> None:
    """The sum of FLOPs over nested rows equals that of the outer call."""
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    )
    rows = record(tmp_path / "run.perfprobe", lambda: module(f(2, 3, 8, 8)).sum().backward())
    both = [
        (count, made.flops)
        for row in rows
        if (count := flops(operator(row), row.signature)) is not None
        and (made := work(operator(row), row.signature)) is not None
    ]
    assert len(both) > 5
    assert all(count == whole for count, whole in both)


def test_every_operator_with_flops_has_a_bytes_model() -> None:
    assert set(FLOPS) <= set(MODELS)


NEVER_WITHOUT = [
    *("f16", "bf16", "f32", "f64", "i8", "u8", "i16", "i32", "i64"),
    *("bool", "u16", "u32", "u64", "float8_e4m3fn", "float8_e5m2"),
]


@pytest.mark.parametrize("dtype", NEVER_WITHOUT)
@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("aten::bmm", "{0}[4,6,5]{{30,1,6}} {0}[4,5,7]{{0,7,1}}"),
        ("aten::bmm.out", "{0}[4,6,5] {0}[4,5,7] {0}[4,6,7]"),
        ("aten::bmm", "{0}[0,6,5] {0}[0,5,7]"),
        ("aten::div.Tensor", "{0}[4,6] {0}[4,1]{{9,1}}"),
        ("aten::div", "{0}[4,6] 2.0"),
        ("aten::div.Tensor", "{0}[] f64[]"),
        ("aten::div_.Tensor", "{0}[4,6]{{1,4}} i64[]"),
        ("aten::div.Scalar", "{0}[4,6] other=float"),
        ("aten::div.Scalar_mode", '{0}[4,6] other=2 rounding_mode="trunc"'),
        ("aten::div.Tensor_mode", '{0}[4,6] {0}[6] rounding_mode="floor"'),
        ("aten::div.out", "{0}[4,6] f32[6] f32[0]"),
        (
            "aten::native_layer_norm_backward",
            "{0}[4,6] {0}[4,6]{{1,4}} normalized_shape=(6) f32[4,1] f32[4,1] {0}[6] {0}[6] "
            "output_mask=(True,True,True)",
        ),
        (
            "aten::native_layer_norm_backward",
            "{0}[4,6] {0}[4,6] normalized_shape=(6) {0}[4,1] {0}[4,1] - - output_mask=(True,False,False)",
        ),
    ],
)
def test_operators_without_a_model_have_no_flops(dtype: str, name: str, signature: str) -> None:
    assert work(name, signature.format(dtype)) is not None


@pytest.mark.parametrize(
    ("name", "signature", "elements"),
    [
        ("aten::exp", "f32[6,4]", (("exp", 24),)),
        ("aten::rsqrt", "f32[6]", (("sqrt", 6),)),
        ("aten::gelu", 'f32[6] approximate="none"', (("erf", 6),)),
        ("aten::gelu", 'f32[6] approximate="tanh"', (("sigmoid", 6),)),
        ("aten::silu", "f32[6]", (("sigmoid", 6),)),
        ("aten::pow.Tensor_Scalar", "f32[6] exponent=2", ()),
        ("aten::pow.Tensor_Scalar", "f32[6] exponent=float", (("pow", 6),)),
        ("aten::bernoulli_.float", "f32[6] p=float", (("rng", 6),)),
        ("aten::_softmax", "f32[6,4] dim=-1 half_to_float=False", (("exp", 24),)),
        ("aten::sort", "f32[6,8] dim=0 descending=False", (("compare", 6 * 8 * 3),)),
        ("aten::sort", "f32[6,8] dim=1 descending=False", (("compare", 6 * 8 * 3),)),
        ("aten::add.Tensor", "f32[6] f32[6] alpha=1", ()),
    ],
)
def test_calls_limited_by_arithmetic(
    name: str, signature: str, elements: tuple[tuple[str, int], ...]
) -> None:
    found = work(name, signature)
    assert found is not None
    assert found.elements == elements
    assert {kind for kind, _ in found.elements} <= set(ELEMENT_KINDS)


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("aten::mode", "f32[6,8] dim=1 keepdim=False"),
        ("aten::linalg_eig", "f32[6,6]"),
        ("aten::sum.dim_IntList", "f32[6,4] (1) False"),  # typed by hand
        ("aten::linalg_qr", 'f32[6,6] mode="complete"'),
        ("aten::index.Tensor", "f32[6] (bool[6])"),
        ("aten::topk", "f32[] k=1 dim=0 largest=True sorted=True"),
        ("aten::arange", "end=float"),
        ("my::mm", "f32[2,3] f32[3,4]"),
        ("aten::exp", "c64[6]"),
        ("aten::exp", "f32[6]:sparse_coo"),
        ("aten::exp", "f32[6]@meta"),
        ("aten::exp", "f32[symbolic]"),
        ("aten::exp", ""),
        ("aten::exp", "f32[99999999999,9999999999]"),
        ("aten::cat", "(f32[2],...) dim=0"),
        ("aten::_foreach_add_.List", "(f32[2],f32[2]) (f32[2])"),
        ("aten::copy_", "f32[2] f32[3]"),
        ("aten::native_layer_norm", "f32[4,6] normalized_shape=(7) - - eps=float"),
        (
            "aten::max_pool2d",
            "f32[1,2,8,8] kernel_size=(2,2) stride=(3,3) padding=(0,0) dilation=(1,1) ceil_mode=False",
        ),
    ],
)
def test_unjudged_calls_have_no_flops(name: str, signature: str) -> None:
    assert work(name, signature) is None


PIECES = [
    *("f32[4,6]", "f32[6]{0}", "i64[4]", "bool[4,6]", "f32[]", "-", "()", "(f32[2],-)", "(1,2)", "f32[0]"),
    *("dim=(0)", "dim=7", "dim=-1", "k=99", "size=(4,-6)", "n=-1", "step=0", "end=5", "start=1", "p=float"),
    *(
        "stride=(0,0)",
        "padding=(1,1)",
        "kernel_size=(2,2)",
        "normalized_shape=(6)",
        "output_mask=(True,True,True)",
    ),
    *("dtype=f64", "dtype=quint8", "pad=(1,-9)", "num_layers=99999999999", "steps=9", "diagonal=-9999999999"),
    *(
        "f32[9223372036854775807]",
        "f32[4,6]{6,-1}",
        "f32[4,6]{9223372036854775807,3}",
        "mode=2",
        "hidden_size=x",
    ),
    *("bf16[2,3,4,5]", "f32[2,3,4]", "u8[2,2,2,2,2]", "train=True", "is_causal=False", "f32[1048577,2]"),
]


def test_arbitrary_recordings_raise_no_error() -> None:
    draw = random.Random(1)
    overloads = ["", ".out", ".Tensor", ".input", ".dim", ".other"]
    for name in sorted(MODELS):
        for _ in range(60):
            text = " ".join(draw.choices(PIECES, k=draw.randrange(7)))
            made = work(f"aten::{name}{draw.choice(overloads)}", text)
            if made is not None:
                counts = (
                    made.flops,
                    made.read_bytes,
                    made.write_bytes,
                    made.footprint_bytes,
                    made.line_bytes,
                )
                assert min(counts) >= 0, (name, text, made)
                assert max(counts) < 1 << 63, (name, text, made)
                assert made.line_bytes >= made.read_bytes + made.write_bytes, (name, text, made)
                assert made.footprint_bytes <= made.read_bytes + made.write_bytes, (name, text, made)
