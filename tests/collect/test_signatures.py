"""The text of an operator's inputs, compared with texts written by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.collect.recorded import Row, record


def only(rows: list[Row], name: str) -> Row:
    """The outermost operator with this name."""
    found = [row for row in rows if row.name == name]
    assert found, f"{name} is not among {sorted({row.name for row in rows})}"
    return found[0]


A = torch.ones(2, 3)
B = torch.ones(3, 4)

CASES: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: torch.mm(A, B), "aten::mm", "f32[2,3] f32[3,4]"),
    (lambda: A.t() + 1, "aten::add", "f32[3,2]{1,3} i64[] alpha=1"),
    (lambda: A / 2.5, "aten::div", "f32[2,3] f64[]"),
    (lambda: A.sum(dim=(0, 1), keepdim=True), "aten::sum", "f32[2,3] dim=(0,1) keepdim=True"),
    (lambda: A.sum(dtype=torch.float64), "aten::sum", "f32[2,3] dtype=f64"),
    (lambda: torch.cat([A, A], dim=1), "aten::cat", "(f32[2,3],f32[2,3]) dim=1"),
    (lambda: A.to(torch.bfloat16).abs(), "aten::abs", "bf16[2,3]"),
    (lambda: torch.gt(A, 0.5), "aten::gt", "f32[2,3] other=float"),
    (lambda: nn.functional.gelu(A, approximate="tanh"), "aten::gelu", 'f32[2,3] approximate="tanh"'),
    (lambda: A.clamp(min=0.0), "aten::clamp", "f32[2,3] min=float"),
    (lambda: A[torch.tensor([1, 0]), :], "aten::index", "f32[2,3] (i64[2])"),
    (lambda: A[:, torch.tensor([1, 0])], "aten::index", "f32[2,3] (-,i64[2])"),
    (lambda: torch.ones(5).bool().all(), "aten::all", "bool[5]"),
    (lambda: torch.ones(0, 4).t().exp(), "aten::exp", "f32[4,0]"),
    (lambda: torch.ones(2, 1)[:, :1].exp(), "aten::exp", "f32[2,1]"),
    (lambda: A.expand(4, 2, 3).exp(), "aten::exp", "f32[4,2,3]{0,3,1}"),
    (lambda: A.to_sparse().coalesce(), "aten::coalesce", "f32[2,3]:sparse_coo"),
    (lambda: A.to_sparse_csr().values(), "aten::values", "f32[2,3]:sparse_csr"),
    (lambda: torch.empty(2, 3, device="meta").exp(), "aten::exp", "f32[2,3]@meta"),
    (lambda: torch.complex(A, A).abs(), "aten::abs", "c64[2,3]"),
]


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(("call", "name", "signature"), CASES, ids=[case[2][:40] for case in CASES])
def test_the_text_of_inputs(call: Callable[[], Any], name: str, signature: str, tmp_path: Path) -> None:
    assert only(record(tmp_path / "run.perfprobe", call), name).signature == signature


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_torchscript_shows_only_the_operators_own_inputs(tmp_path: Path) -> None:
    @torch.jit.script
    def repeat(x: torch.Tensor, times: int) -> torch.Tensor:
        for _ in range(times):
            x = torch.cumsum(torch.cat([torch.tanh(x)], 1), 1)
        return x

    for _ in range(3):  # also after it was optimised
        rows = record(tmp_path / "run.perfprobe", lambda: repeat(A, 2))
        (tmp_path / "run.perfprobe").unlink()
        found = [(row.name, row.signature) for row in rows]
        assert found.count(("aten::tanh", "f32[2,3]")) == 2
        assert found.count(("aten::cat", "(f32[2,3]) dim=1")) == 2
        assert found.count(("aten::cumsum", "f32[2,3] dim=1")) == 2


def test_layer_norm_with_its_optional_tensors(tmp_path: Path) -> None:
    rows = record(tmp_path / "run.perfprobe", lambda: nn.functional.layer_norm(A, (3,)))
    assert only(rows, "aten::native_layer_norm").signature == "f32[2,3] normalized_shape=(3) - - eps=float"


def test_floats_by_type_with_an_example(tmp_path: Path) -> None:
    def steps() -> None:
        for factor in (0.5, 0.25, 0.125):
            A.clamp(min=factor)

    rows = [row for row in record(tmp_path / "run.perfprobe", steps) if row.name == "aten::clamp"]
    assert [row.signature for row in rows] == ["f32[2,3] min=float"] * 3
    assert rows[0].example == "f32[2,3] min=0.5"


def test_requires_grad_is_known_and_not_in_the_text(tmp_path: Path) -> None:
    weight = torch.ones(3, 4, requires_grad=True)
    row = only(record(tmp_path / "run.perfprobe", lambda: torch.mm(A, weight)), "aten::mm")
    assert (row.signature, row.grad_mask) == ("f32[2,3] f32[3,4]", 0b10)


def test_integers_that_keep_changing_count_by_type(tmp_path: Path) -> None:
    table = torch.ones(500, 2)

    def walk() -> None:
        for i in range(500):
            table.select(0, i)

    rows = [row for row in record(tmp_path / "run.perfprobe", walk) if row.name == "aten::select"]
    texts = {row.signature for row in rows}
    assert len(rows) == 500
    assert rows[0].signature == "f32[500,2] dim=0 index=0"
    assert rows[-1].signature == "f32[500,2] dim=int index=int"
    assert len(texts) < 80


def test_quantised_tensors(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = torch.quantize_per_tensor(A, 0.1, 0, torch.qint8)
        rows = record(tmp_path / "run.perfprobe", lambda: torch.dequantize(quantised))
    assert only(rows, "aten::dequantize").signature == "qint8[2,3]"


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors(tmp_path: Path) -> None:
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    row = only(record(tmp_path / "run.perfprobe", lambda: nested.sin()), "aten::sin")
    assert row.signature == "f32[nested]"


class Wrapped(torch.Tensor):
    """A subclass that computes sizes and device in Python, which must not be called."""

    asked = 0

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapped:
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), dtype=inner.dtype, device=inner.device, dispatch_sizes_strides_policy="sizes"
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, inputs: Any = (), named: Any = None) -> Any:
        if "size" in str(operator):
            cls.asked += 1
            return inputs[0].inner.size()
        bare = [value.inner if isinstance(value, cls) else value for value in inputs]
        return operator(*bare, **(named or {}))


def test_a_subclass_is_named_and_its_code_never_called(tmp_path: Path) -> None:
    wrapped = Wrapped(A)
    asked_before = Wrapped.asked
    wrapped.exp()
    asked_plain = Wrapped.asked - asked_before
    rows = record(tmp_path / "run.perfprobe", wrapped.exp)
    assert Wrapped.asked - asked_before == 2 * asked_plain
    assert [row.signature for row in rows if row.name == "aten::exp"] == ["f32[2,3]:subclass", "f32[2,3]"]


def test_symbolic_sizes(tmp_path: Path) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    environment = ShapeEnv()
    with FakeTensorMode(shape_env=environment):
        fake = torch.empty(environment.create_unbacked_symint(), 7)
        rows = record(tmp_path / "run.perfprobe", fake.exp)
    assert only(rows, "aten::exp").signature.startswith("f32[symbolic]")


def test_a_dispatch_mode_does_not_see_the_observer(tmp_path: Path) -> None:
    class Counting(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, operator: Any, types: Any, inputs: Any = (), named: Any = None) -> Any:
            self.calls += 1
            return operator(*inputs, **(named or {}))

    with Counting() as mode:
        record(tmp_path / "run.perfprobe", lambda: torch.mm(A, B))
    assert mode.calls == 1
