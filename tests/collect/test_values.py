"""Recorded digests of tensors with known contents, and of tensors that must not be read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import perfprobe
from perfprobe.tables import storage
from perfprobe.tables.events import Signatures, SignatureValues
from perfprobe.tables.strings import Strings

NAMES = ("zeros", "negatives", "denormals", "nonfinite")
ORDER = ("ascending", "trend", "step", "far", "quantiles", "sample")


def seen(path: Path, run: Callable[[], Any], **options: Any) -> dict[str, list[Any] | None]:
    """As `all_seen`, without order and magnitude."""
    return {
        name: None if tensors is None else [tensor and _parts(tensor) for tensor in tensors]
        for name, tensors in all_seen(path, run, **options).items()
    }


def _parts(tensor: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tensor.items() if key not in ORDER}


def all_seen(path: Path, run: Callable[[], Any], **options: Any) -> dict[str, list[Any] | None]:
    """The digests of tensors by operator and signature; None if they were not read."""
    with perfprobe.profile(path, **options):
        run()
    recording = storage.read(path)
    found: dict[str, list[Any] | None] = {}
    strings, signatures = recording[Strings], recording[Signatures]
    for batch in recording.operators():
        for name, signature in zip(batch.name.tolist(), batch.signature.tolist(), strict=True):
            values = int(signatures.values[signature]) if signature >= 0 else -1
            text = strings[signatures.text[signature]] if signature >= 0 else ""
            found[f"{strings[name]} {text}"] = json.loads(strings[values]) if values >= 0 else None
    return found


def of_one(path: Path, tensor: torch.Tensor) -> Any:
    """The digest of an operator's only tensor."""
    (found,) = [
        values
        for name, values in seen(path, lambda: torch.ops.aten.neg(tensor)).items()
        if "aten::neg " in name
    ]
    return None if found is None else found[0]


def floats(*parts: float, changes: float = 0) -> dict[str, float]:
    return {**dict(zip(NAMES, parts, strict=True)), "changes": changes}


@pytest.mark.parametrize(
    ("options", "calls"), [({"detail": "bench"}, [4, 7, 11]), ({"cpu_time": "outermost"}, [])]
)
def test_tensors_are_read_again_with_that_detail(
    tmp_path: Path, options: dict[str, str], calls: list[int]
) -> None:
    """In the n-th call n of 64 elements are zero."""
    tensor, path = torch.ones(64), tmp_path / "run.perfprobe"

    def run() -> None:
        for call in range(16):
            tensor[call] = 0
            torch.ops.aten.neg(tensor)

    first = seen(path, run, **options)["aten::neg f32[64]"]
    assert first is not None
    assert first[0]["zeros"] == pytest.approx(1 / 64, abs=1e-4)
    recording = storage.read(path)
    strings, signatures, later = recording[Strings], recording[Signatures], recording[SignatureValues]
    zeros = [
        round(json.loads(strings[values])[0]["zeros"] * 64)
        for signature, values in zip(later.signature.tolist(), later.values.tolist(), strict=True)
        if strings[signatures.text[signature]] == "f32[64]"
    ]
    assert zeros == calls


DENORMAL = {torch.float32: 1e-40, torch.float64: 1e-310, torch.float16: 1e-7, torch.bfloat16: 1e-40}


@pytest.mark.parametrize("dtype", list(DENORMAL))
def test_digests_of_floats(tmp_path: Path, dtype: torch.dtype) -> None:
    values = [0.0, -0.0, -1.0, -math.inf, math.nan, DENORMAL[dtype], -DENORMAL[dtype], 2.0]
    tensor = torch.tensor(values * 4, dtype=dtype)
    assert of_one(tmp_path / "run.perfprobe", tensor) == floats(0.25, 0.375, 0.25, 0.25, changes=0.2188)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_digests_of_integers(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = torch.tensor([3, 7, 7, 100], dtype=dtype)
    assert of_one(tmp_path / "run.perfprobe", tensor) == {"lowest": 3, "highest": 100, "distinct": 0.75}


def order_and_magnitude(path: Path, tensor: torch.Tensor) -> dict[str, Any]:
    found = all_seen(path, lambda: torch.ops.aten.neg(tensor))
    (values,) = [values for name, values in found.items() if "aten::neg " in name]
    assert values is not None
    return {key: value for key, value in values[0].items() if key in ORDER}


@pytest.mark.parametrize("dtype", list(DENORMAL))
def test_magnitude_uses_only_ordinary_numbers(tmp_path: Path, dtype: torch.dtype) -> None:
    """Numbers from -8 to 8 in two orders, with special values among them."""
    odd = [0.0, math.inf, -math.inf, math.nan, DENORMAL[dtype]]
    numbers = [float(number) for number in range(-8, 9) if number]
    up = torch.tensor([*odd, *numbers, 0.5], dtype=dtype)
    found = order_and_magnitude(tmp_path / "up.perfprobe", up)
    assert found["quantiles"] == [-8, -6, -4, -2, 0.5, 2, 4, 6, 8]
    assert found["sample"] == 22
    down = order_and_magnitude(tmp_path / "down.perfprobe", torch.tensor(numbers[::-1], dtype=dtype))
    assert found["ascending"] > 0.8
    assert down["ascending"] == 0


def test_tensors_without_ordinary_numbers_have_no_magnitude(tmp_path: Path) -> None:
    zeros = order_and_magnitude(tmp_path / "zeros.perfprobe", torch.zeros(9))
    assert zeros == {"ascending": 0.5, "quantiles": [], "sample": 9}
    one = order_and_magnitude(tmp_path / "one.perfprobe", torch.tensor([0.0, 3.0]))
    assert one["quantiles"] == [3] * 9


def test_order_of_indices_compares_neighbours_and_halves(tmp_path: Path) -> None:
    """Neighbours: 1-5 5-2 2-2 2-8; halves: 1-2 5-8 2-2."""
    found = order_and_magnitude(tmp_path / "run.perfprobe", torch.tensor([1, 5, 2, 2, 2, 8]))
    order = {"ascending": 0.6667, "trend": 1, "step": 4, "far": 3}
    assert found == {**order, "quantiles": [1, 1, 2, 2, 2, 2, 2, 5, 8], "sample": 6}


def test_more_elements_of_indices_are_read(tmp_path: Path) -> None:
    samples = [
        order_and_magnitude(tmp_path / f"{dtype}.perfprobe", torch.ones(5000, dtype=dtype))["sample"]
        for dtype in (torch.float32, torch.int64)
    ]
    assert samples == [256, 1024]


def test_the_largest_integers(tmp_path: Path) -> None:
    lowest, highest = -(1 << 63), (1 << 63) - 1
    found = of_one(tmp_path / "run.perfprobe", torch.tensor([highest, lowest]))
    assert found == {"lowest": lowest, "highest": highest, "distinct": 1}


def test_a_sample_of_a_large_tensor(tmp_path: Path) -> None:
    """Half of it is zero, at places that a regular distance would always or never hit."""
    rows, columns = torch.meshgrid(torch.arange(1024), torch.arange(1024), indexing="ij")
    below = (columns <= rows).float()
    stripes = (columns % 2).float()
    assert of_one(tmp_path / "e.perfprobe", stripes)["changes"] > 0.99
    assert of_one(tmp_path / "f.perfprobe", below)["changes"] < 0.05
    assert of_one(tmp_path / "a.perfprobe", below)["zeros"] == pytest.approx(0.5, abs=0.08)
    assert of_one(tmp_path / "b.perfprobe", stripes)["zeros"] == pytest.approx(0.5, abs=0.08)
    assert of_one(tmp_path / "c.perfprobe", (columns < 8).float())["zeros"] > 0.97
    found = of_one(tmp_path / "d.perfprobe", (columns * 1000 + rows) % 30_011)
    assert 0 <= found["lowest"] < 600
    assert 29_400 < found["highest"] <= 30_010
    assert found["distinct"] > 0.95


def test_masks_and_their_operands(tmp_path: Path) -> None:
    mask = torch.arange(64) % 4 == 0
    found = seen(tmp_path / "run.perfprobe", lambda: torch.ones(64).masked_fill_(mask, 0.0))
    (values,) = [values for name, values in found.items() if "masked_fill_" in name]
    assert values == [floats(0, 0, 0, 0), {"true": 0.25, "changes": 0.4844}]  # 31 of 64


def test_views_are_read_through_their_strides(tmp_path: Path) -> None:
    base = torch.zeros(8, 8)
    base[:, 3] = -1.0
    assert of_one(tmp_path / "a.perfprobe", base.t()[3]) == floats(0, 1, 0, 0)
    assert of_one(tmp_path / "b.perfprobe", base.t()[2:4]) == floats(0.5, 0.5, 0, 0, changes=0.0625)
    assert of_one(tmp_path / "c.perfprobe", base[1, 3].expand(5, 7)) == floats(0, 1, 0, 0)
    assert of_one(tmp_path / "d.perfprobe", base[7, 3]) == floats(0, 1, 0, 0)


def test_lists_and_undefined_tensors(tmp_path: Path) -> None:
    x, weight = torch.ones(1, 1, 4, 4), torch.zeros(1, 1, 3, 3)
    found = seen(
        tmp_path / "run.perfprobe",
        lambda: (torch.nn.functional.conv2d(x, weight), torch.cat([torch.zeros(3), torch.ones(2)])),
    )
    (lists,) = [values for name, values in found.items() if name.startswith("aten::cat ")]
    (optional,) = [values for name, values in found.items() if name.startswith("aten::convolution ")]
    assert lists == [floats(1, 0, 0, 0), floats(0, 0, 0, 0)]
    assert optional == [floats(0, 0, 0, 0), floats(1, 0, 0, 0)]


def test_only_the_first_of_many_tensors_are_read(tmp_path: Path) -> None:
    found = seen(tmp_path / "run.perfprobe", lambda: torch.cat([torch.ones(1)] * 100))
    (values,) = [values for name, values in found.items() if name.startswith("aten::cat ")]
    assert values == [floats(0, 0, 0, 0)] * 64 + [None] * 36


def freed() -> torch.Tensor:
    tensor = torch.ones(64)
    tensor.untyped_storage().resize_(0)
    return tensor


def shortened() -> torch.Tensor:
    tensor = torch.ones(64)
    tensor.untyped_storage().resize_(128)
    return tensor


def fake() -> torch.Tensor:
    tensor: torch.Tensor = FakeTensorMode().from_tensor(torch.ones(4))
    return tensor


UNREAD: dict[str, Callable[[], torch.Tensor]] = {
    "freed": freed,
    "shortened": shortened,
    "empty": lambda: torch.ones(0, 4),
    "meta": lambda: torch.ones(4, device="meta"),
    "conjugated": lambda: torch.ones(4, dtype=torch.complex64).conj(),
    "negated": lambda: torch.ones(4, dtype=torch.complex64).conj().imag,
    "complex": lambda: torch.ones(4, dtype=torch.complex64),
    "zero": lambda: torch._efficientzerotensor((4,)),
    "sparse": lambda: torch.ones(4, 4).to_sparse(),
    "fake": fake,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", list(UNREAD))
def test_tensors_that_are_not_read(tmp_path: Path, kind: str) -> None:
    tensor = UNREAD[kind]()
    found = seen(tmp_path / "run.perfprobe", lambda: tensor.detach())
    values = [values for name, values in found.items() if "aten::detach " in name]
    assert values
    assert set(map(str, values)) == {"None"}


def test_a_lazily_copied_tensor_stays_lazy(tmp_path: Path) -> None:
    base = torch.tensor([0.0, 1.0, 2.0, -3.0])
    copy = torch._lazy_clone(base)
    version = copy._version
    assert of_one(tmp_path / "run.perfprobe", copy) == floats(0.25, 0.25, 0, 0, changes=0.25)
    assert torch._C._is_cow_tensor(copy)
    assert torch._C._is_cow_tensor(base)
    assert copy._version == version


class Counted(torch.Tensor):
    """A subclass that computes everything in Python."""

    calls = 0

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls += 1
        return torch.ones(4)


def test_no_code_of_a_subclass_is_run(tmp_path: Path) -> None:
    tensor = torch.Tensor._make_subclass(Counted, torch.ones(4))
    torch.ops.aten.neg(tensor)
    alone, Counted.calls = Counted.calls, 0
    assert of_one(tmp_path / "run.perfprobe", tensor) is None
    assert Counted.calls == alone


def test_wrappers_of_vmap(tmp_path: Path) -> None:
    tensor = torch.zeros(3, 4)
    found = seen(tmp_path / "run.perfprobe", lambda: torch.vmap(torch.neg)(tensor))
    by_size = {name.split(" ")[1]: values for name, values in found.items() if name.startswith("aten::neg ")}
    assert by_size["f32[3,4]"] == [floats(1, 0, 0, 0)]
    assert all(values is None for size, values in by_size.items() if size != "f32[3,4]")


def test_a_compiled_function(tmp_path: Path) -> None:
    compiled = torch.compile(lambda x: torch.sin(x).sum(), backend="aot_eager")
    tensor = torch.zeros(16, requires_grad=True)
    found = seen(tmp_path / "run.perfprobe", lambda: compiled(tensor).backward())
    values = [values for name, values in found.items() if name.startswith("aten::sin ")]
    assert [floats(1, 0, 0, 0)] in values


def test_denormals_are_seen_despite_flush_to_zero(tmp_path: Path) -> None:
    tensor = torch.full((8,), 1e-40)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor does not flush denormals")
    try:
        assert of_one(tmp_path / "run.perfprobe", tensor) == floats(0, 0, 1, 0)
    finally:
        torch.set_flush_denormal(False)
