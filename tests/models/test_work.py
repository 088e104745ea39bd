"""FLOPs from recorded signatures, compared with torch's two counters and with counted multiply-adds.

Multiply-adds are counted by torch's arithmetic: if all inputs are 1, each output is the number of
multiply-adds that made it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, pad, scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from perfprobe.models.work import flops
from tests.collect.recorded import Row, record


def operator(row: Row) -> str:
    return f"{row.name}.{row.overload}" if row.overload else row.name


def counted(path: Path, run: Callable[[], Any]) -> dict[str, int]:
    """The sum over all recorded calls of each operator that has a work model."""
    sums: dict[str, int] = {}
    for row in record(path / "run.perfprobe", run):
        count = flops(operator(row), row.signature)
        if count is not None:
            sums[row.name] = sums.get(row.name, 0) + count
    return sums


def of_kind(sums: dict[str, int], *words: str) -> int:
    return sum(count for name, count in sums.items() if any(word in name for word in words))


A, B, V = torch.ones(5, 3), torch.ones(3, 4), torch.ones(3)
BATCH = torch.ones(2, 4, 3)
GEMM: dict[str, Callable[[], Any]] = {
    "mm": lambda: A @ B,
    "transposed": lambda: B.t() @ A.t(),
    "addmm": lambda: torch.addmm(torch.ones(4), A, B),
    "linear": lambda: nn.functional.linear(torch.ones(2, 5, 3), torch.ones(7, 3), torch.ones(7)),
    "bmm": lambda: BATCH @ torch.ones(2, 3, 6),
    "baddbmm": lambda: torch.baddbmm(torch.ones(4, 6), BATCH, torch.ones(2, 3, 6)),
    "out": lambda: torch.mm(A, B, out=torch.empty(0)),
    "matmul of four dimensions": lambda: torch.ones(2, 2, 4, 3) @ torch.ones(2, 2, 3, 4),
    "einsum": lambda: torch.einsum("bik,bkj->bij", BATCH, torch.ones(2, 3, 6)),
    "bf16": lambda: A.bfloat16() @ B.bfloat16(),
    "empty": lambda: torch.ones(0, 3) @ B,
    "gru": lambda: nn.GRU(3, 4)(torch.ones(5, 2, 3)),
    "backward": lambda: nn.Linear(3, 4)(A.clone().requires_grad_()).sum().backward(),
}


@pytest.mark.parametrize("case", GEMM)
def test_matrix_products_as_torch_counts_them(case: str, tmp_path: Path) -> None:
    with FlopCounterMode(display=False) as counter:
        GEMM[case]()
    assert of_kind(counted(tmp_path, GEMM[case]), "mm") == counter.get_total_flops()


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (lambda: torch.zeros(5, 4).addmm_(A, B), "aten::addmm_"),
        (lambda: torch.addbmm(torch.zeros(4, 6), BATCH, torch.ones(2, 3, 6)), "aten::addmm_"),
        (lambda: A @ V, "aten::addmv_"),
        (lambda: torch.addmv(torch.zeros(5), A, V), "aten::addmv"),
        (lambda: torch.dot(V, V), "aten::dot"),
        (lambda: torch.vdot(V, V), "aten::dot"),
        (lambda: torch._int_mm(torch.ones(32, 32).char(), torch.ones(32, 32).char()), "aten::_int_mm"),
    ],
)
def test_operators_that_torch_does_not_count(run: Callable[[], Any], name: str, tmp_path: Path) -> None:
    sums = counted(tmp_path, run)
    assert sums[name] == of_kind(sums, "mm", "mv", "dot") == 2 * int(run().sum())


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "plain": ((2, 3, 9, 8), lambda: nn.Conv2d(3, 6, 3)),
    "stride, padding": ((2, 3, 9, 8), lambda: nn.Conv2d(3, 6, (3, 2), stride=(2, 3), padding=(1, 2))),
    "dilation": ((2, 3, 9, 8), lambda: nn.Conv2d(3, 6, 3, dilation=2)),
    "one dimension": ((2, 3, 9), lambda: nn.Conv1d(3, 6, 3, padding="same")),
    "three dimensions": ((2, 3, 6, 5, 4), lambda: nn.Conv3d(3, 6, 3, stride=2, padding=1)),
    "without batch": ((3, 9, 8), lambda: nn.Conv2d(3, 6, 3)),
    "f64": ((2, 3, 9, 8), lambda: nn.Conv2d(3, 6, 3, stride=2, padding=1)),
    "transposed": ((2, 3, 5, 4), lambda: nn.ConvTranspose2d(3, 6, 3, stride=2, output_padding=1)),
    "f64 transposed": ((2, 3, 5, 4), lambda: nn.ConvTranspose2d(3, 6, 3, stride=2, padding=1)),
}


def trained(case: str) -> Callable[[], Any]:
    sizes, make = CONVOLUTIONS[case]
    kind = torch.float64 if "f64" in case else torch.float32
    module, image = make().to(kind), torch.ones(sizes, dtype=kind, requires_grad=True)
    return lambda: module(image).sum().backward()


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_as_torch_counts_them(case: str, onednn: bool, tmp_path: Path) -> None:
    with torch.backends.mkldnn.flags(enabled=onednn):
        with FlopCounterMode(display=False) as counter:
            trained(case)()
        assert of_kind(counted(tmp_path, trained(case)), "conv") == counter.get_total_flops()


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_convolutions_equal_counted_multiply_adds(groups: int, tmp_path: Path) -> None:
    image = torch.ones(2, 6, 9, 8, requires_grad=True)
    weight = torch.ones(12, 6 // groups, 3, 2, requires_grad=True)
    settings: dict[str, Any] = {"stride": (2, 1), "dilation": (1, 2), "groups": groups}
    sums = counted(tmp_path, lambda: conv2d(image, weight, padding=(1, 2), **settings).sum().backward())

    padded = pad(image.detach(), (2, 2, 1, 1), value=1.0).requires_grad_()
    result = conv2d(padded, weight.detach().requires_grad_(), **settings)
    towards_image, towards_weight = torch.autograd.grad(
        conv2d(padded, weight, **settings).sum(), (padded, weight)
    )
    assert sums.pop("aten::convolution_backward") == 2 * int(towards_image.sum() + towards_weight.sum())
    assert of_kind(sums, "conv") == 2 * int(result.sum())


def test_only_requested_gradients_count(tmp_path: Path) -> None:
    weight = torch.ones(6, 3, 3, 3, requires_grad=True)
    sums = counted(tmp_path, lambda: conv2d(torch.ones(2, 3, 8, 8), weight).sum().backward())
    assert sums["aten::convolution_backward"] == sums["aten::mkldnn_convolution"]


def attend(heads: int, queries: int, keys: int, **settings: Any) -> Any:
    query = torch.ones(2, 4, queries, 8, requires_grad=True)
    key, value = (torch.ones(2, heads, keys, 8, requires_grad=True) for _ in range(2))
    return scaled_dot_product_attention(query, key, value, **settings)


NAME = "aten::_scaled_dot_product_flash_attention_for_cpu"


def test_attention_as_torch_counts_it(tmp_path: Path) -> None:
    sums = counted(tmp_path, lambda: attend(4, 16, 12).sum().backward())
    query, key = (2, 4, 16, 8), (2, 4, 12, 8)
    assert sums[NAME] == sdpa_flop_count(query, key, key)
    assert sums[f"{NAME}_backward"] == sdpa_backward_flop_count(query, query, key, key)


@pytest.mark.parametrize(("queries", "keys"), [(16, 16), (16, 12), (5, 9)])
def test_causal_attention_counts_only_unmasked_pairs(queries: int, keys: int, tmp_path: Path) -> None:
    sums = counted(tmp_path, lambda: attend(4, queries, keys, is_causal=True).sum().backward())
    pairs = int(torch.ones(queries, keys).tril().sum())  # the mask in the documentation of torch's function
    assert sums[NAME] == 2 * 2 * 4 * pairs * (8 + 8)
    assert sums[f"{NAME}_backward"] == 2 * 2 * 4 * pairs * (3 * 8 + 2 * 8)


ELEMENTWISE: dict[str, Callable[[], Any]] = {
    "add": lambda: A + A,
    "add in place": lambda: A.clone().add_(A),
    "mul by a number": lambda: A * 2.5,
    "mul, out": lambda: torch.mul(A, A, out=torch.empty(0)),
}


def torchs_profiler() -> Any:
    """torch's own count of FLOPs. torch 2.11 warns that it drops events by default."""
    return profile(activities=[ProfilerActivity.CPU], with_flops=True, record_shapes=True, acc_events=True)


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_elementwise_as_torchs_profiler_counts_it(case: str, tmp_path: Path) -> None:
    with torchs_profiler() as profiler:
        ELEMENTWISE[case]()
    torchs = sum(event.flops for event in profiler.events() if event.name.startswith("aten::"))
    ours = of_kind(counted(tmp_path, ELEMENTWISE[case]), "add", "mul")
    assert ours == A.numel() == (torchs or ours)  # torch's counter does not know the in-place operators


def test_matrix_products_as_torchs_profiler_counts_them(tmp_path: Path) -> None:
    def run() -> None:
        torch.addmm(torch.ones(4), A, B)
        conv2d(torch.ones(2, 3, 8, 8), torch.ones(6, 3, 3, 3), padding=1)
        torch.baddbmm(torch.ones(4, 6), BATCH, torch.ones(2, 3, 6))

    with torchs_profiler() as profiler:
        run()
    torchs = {event.name: event.flops for event in profiler.events() if event.flops}
    assert sum(torchs.values()) == of_kind(counted(tmp_path, run), "mm", "conv")


def test_broadcast_results_and_factors_count(tmp_path: Path) -> None:
    column, row = torch.ones(6, 1), torch.ones(4)
    assert counted(tmp_path, lambda: torch.add(column, row, alpha=3)) == {"aten::add": 2 * 6 * 4}


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("aten::clamp_min", lambda: torch.relu(A)),
        ("aten::mul", lambda: torch.mul(A, 3)),
        ("aten::sub", lambda: 1 - A),
        ("aten::sqrt", lambda: A.sqrt()),
        ("aten::maximum", lambda: torch.maximum(A, A)),
        ("aten::sum", lambda: A.sum()),
        ("aten::sum", lambda: A.sum(0)),
    ],
)
def test_nested_operators_are_counted_once(name: str, run: Callable[[], Any], tmp_path: Path) -> None:
    assert counted(tmp_path, run) == {name: A.numel()}


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("aten::softmax.int", "f32[4,4] dim=-1"),
        ("aten::exp", "f32[4,4]"),
        ("my::mm", "f32[2,3] f32[3,4]"),
        ("mm", "f32[2,3] f32[3,4]"),
        ("aten::mm", ""),
        ("aten::mm", "f32[2,3]"),
        ("aten::mm", "f32[2,3] f32[4,3]"),
        ("aten::mm", "f32[2,3]:sparse_coo f32[3,4]"),
        ("aten::mm", "f32[2,3]:subclass f32[3,4]"),
        ("aten::mm", "f32[2,3]@meta f32[3,4]@meta"),
        ("aten::mm", "f32[symbolic] f32[3,4]"),
        ("aten::mm", "c64[2,3] c64[3,4]"),
        ("aten::mm", "f32[9999999999,9999999999] f32[9999999999,4]"),
        ("aten::mm.out", "f32[2,3] f32[3,4]"),
        ("aten::div.Tensor_mode", 'f32[4] f32[4] rounding_mode="floor"'),
        ("aten::add.Scalar", "f32[4] other=1 alpha=1"),
        ("aten::add.Tensor", "f32[4] f32[5] alpha=1"),
        ("aten::mkldnn_convolution", "f32[2,3,8,8] f32[6,3,3,3] - padding=(0,0) stride=(0,0) dilation=(1,1)"),
        ("aten::mkldnn_convolution", "f32[2,3,8,8] f32[6,3,3,3] - padding=(a,0) stride=(1,1) dilation=(1,1)"),
        ("aten::mkldnn_convolution", "f32[2,3,8,8] f32[6,3,3,3] - padding=int stride=(1,1) dilation=(1,1)"),
        ("aten::convolution_backward", "f32[2,6,6,6] f32[2,3,8,8] f32[6,3,3,3] transposed=False"),
        (NAME, "f32[2,4,8,8] f32[2,4,8,8] f32[2,4,8,8] dropout_p=float is_causal=int"),
    ],
)
def test_unknown_work_is_none_and_never_0(name: str, signature: str) -> None:
    assert flops(name, signature) is None
