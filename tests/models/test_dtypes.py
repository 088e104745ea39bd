"""Names and numbers of dtypes, in Python and in the observer, compared with torch."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from perfprobe.models.dtypes import ITEM_BYTES, name_of_number, short_name, torch_name
from perfprobe.models.signature import Scalar, Tensor, parse
from tests.collect.recorded import record

KINDS = {kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)}
NAMES = {str(kind).removeprefix("torch."): kind for kind in sorted(KINDS, key=str)}
SHORT = {torch.uint8: "u8", torch.int64: "i64", torch.bfloat16: "bf16", torch.float16: "f16"} | {
    torch.float32: "f32", torch.complex64: "c64", torch.bool: "bool", torch.float8_e5m2: "float8_e5m2"
}  # fmt: skip


def number(x: torch.Tensor) -> int:  # in TorchScript
    return x.dtype


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_numbers_agree_with_torch() -> None:
    numbered = torch.jit.script(number)
    found = {name: name_of_number(numbered(tensor)) for name, tensor in zip(NAMES, tensors(), strict=True)}
    assert len(found) > 40
    assert found == {name: short_name(name) for name in NAMES}
    assert name_of_number(-1) is None
    assert name_of_number(1000) is None


def tensors() -> list[torch.Tensor]:
    """A tensor of each dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [torch.empty(2, dtype=kind) for kind in NAMES.values()]


def test_names_are_unique_and_can_be_read_back() -> None:
    assert {short_name(str(kind).removeprefix("torch.")): kind for kind in SHORT} == {
        short: kind for kind, short in SHORT.items()
    }
    assert {torch_name(short_name(name)) for name in NAMES} == set(NAMES)
    assert len({short_name(name) for name in NAMES}) == len(NAMES)


def test_sizes_agree_with_torch() -> None:
    whole = {name: kind.itemsize for name, kind in NAMES.items() if not _is_part(name)}
    assert dict(ITEM_BYTES) == whole


def _is_part(name: str) -> bool:
    """Whether an element is not a separate number: quantized, or smaller than a byte."""
    return name.startswith(("q", "bits", "float4")) or name in [
        f"{sign}int{bits}" for sign in ("u", "") for bits in range(1, 8)
    ]


def test_the_observer_names_tensors_of_every_dtype(tmp_path: Path) -> None:
    made = tensors()
    rows = record(tmp_path / "run.perfprobe", lambda: [tensor.detach() for tensor in made])
    found = [parse(row.signature) for row in rows if row.name == "aten::detach"]
    assert found == [(Tensor(short_name(name), (2,)),) for name in NAMES]


def test_the_observer_names_arguments_of_every_dtype(tmp_path: Path) -> None:
    def run() -> None:
        for kind in NAMES.values():
            with suppress(RuntimeError):  # calls that fail are recorded too
                torch.empty(2, dtype=kind)

    rows = [row for row in record(tmp_path / "run.perfprobe", run) if row.name == "aten::empty"]
    found = [next(item for item in parse(row.signature) or () if _names_dtype(item)) for row in rows]
    assert found == [Scalar("dtype", short_name(name)) for name in NAMES]


def _names_dtype(item: object) -> bool:
    return isinstance(item, Scalar) and item.name == "dtype"
